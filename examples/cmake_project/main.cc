// A program outside Capstan's tree: it sees only the installed headers.
#include <capstan/error.h>
#include <capstan/program.h>
#include <capstan/tensor.h>
#include <capstan/version.h>

#include <iostream>

int main() {
  std::cout << "Capstan " << capstan::Version() << '\n';

  auto table = capstan::Tensor::FromValues({3, 2}, {1, 2, 3, 4, 5, 6});
  auto rows = table.view().SliceRows(1, 3);
  std::cout << "rows 1 and 2 of a table " << table.shape().ToString() << ':';
  for (int value : rows.Values<int>()) std::cout << ' ' << value;
  std::cout << '\n';

  capstan::LocalCluster local(1, 1);
  std::cout << "a cluster of " << local.cluster().spec().ToString() << '\n';

  try {
    table.view().SliceRows(2, 4);
  } catch (const capstan::Error& error) {
    std::cout << "as expected: " << error.what() << '\n';
    return 0;
  }
  return 1;
}
