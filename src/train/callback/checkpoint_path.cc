#include "train/callback/checkpoint_path.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {

std::string CheckpointPath(const std::string& pattern, int epoch,
                           std::int64_t batch, const Logs& logs) {
  fmt::dynamic_format_arg_store<fmt::format_context> names;
  names.push_back(fmt::arg("epoch", epoch));
  names.push_back(fmt::arg("batch", batch));
  std::string known = "epoch, batch";
  for (const auto& [name, value] : logs) {
    names.push_back(fmt::arg(name.c_str(), value));
    absl::StrAppend(&known, ", ", name);
  }
  std::string path;
  try {
    path = fmt::vformat(pattern, names);
  } catch (const fmt::format_error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("the path '", pattern, "': ", error.what(),
                             "; what can be put in is {", known,
                             "}, each with a format such as {epoch:02d} or "
                             "{loss:.2f}"));
  }
  if (!absl::EndsWith(path, ".safetensors")) path += ".safetensors";
  return path;
}

}  // namespace capstan
