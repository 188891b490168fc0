// Input files, identical in every run.
#pragma once

#include <string>

namespace capstan {

// The text of `rows` lines. Numeric: 16 columns under a header, four of them
// small integers and the others decimals. Criteo: a label, 13 numbers and 26
// categories of 8 hexadecimal digits, with a fifth of each missing.
std::string NumericCsv(int rows);
std::string CriteoTsv(int rows);

// An IDX file of `rows` images of 28 x 28, and one of their labels.
std::string IdxImages(int rows);
std::string IdxLabels(int rows);

void WriteFile(const std::string& path, const std::string& content);

}  // namespace capstan
