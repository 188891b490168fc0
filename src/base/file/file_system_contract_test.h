// The contract of FileSystem as a test suite, written once in
// file_system_contract_test.cc and instantiated by each implementation's test:
//
//   INSTANTIATE_TEST_SUITE_P(Sim, FileSystemContractTest,
//                            ::testing::Values(&NewSim));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/file/file_system.h"

namespace capstan {

// Holds an empty file system and whatever backs it.
class FileSystemHarness {
 public:
  virtual ~FileSystemHarness() = default;
  virtual FileSystem& files() = 0;
};

using NewFileSystemHarness = std::unique_ptr<FileSystemHarness> (*)();

class FileSystemContractTest
    : public ::testing::TestWithParam<NewFileSystemHarness> {
 protected:
  FileSystemContractTest()
      : harness_(GetParam()()), files_(harness_->files()) {}

  // Write and read a whole file through the interface.
  void Write(std::string_view path, std::string_view content);
  std::string Read(std::string_view path) const;

  const std::unique_ptr<FileSystemHarness> harness_;
  FileSystem& files_;
};

}  // namespace capstan
