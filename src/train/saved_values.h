// The values of a trainer in a safetensors file.
#pragma once

#include <map>
#include <string>

#include "capstan/tensor.h"

namespace capstan {

struct SavedValues {
  std::map<std::string, Tensor> values;
  std::map<std::string, std::string> metadata;
};

// Makes `path` such a file, with the folders above it; whole or not at all.
void SaveValues(const std::string& path, const SavedValues& saved);

// Throws kNotFound without a file, and kDataLoss for a damaged one.
SavedValues LoadValues(const std::string& path);

}  // namespace capstan
