#include "cli/usage_error.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace capstan {
namespace {

// The error for a command line of a program with two commands.
std::string ErrorOf(const std::string& line) {
  CLI::App app("Test", "capstan");
  app.require_subcommand(1);
  int workers = 0;
  bool evaluator = false;
  CLI::App* run = app.add_subcommand("run", "Run");
  run->add_option("-w,--workers", workers)->check(CLI::Range(1, 9));
  run->add_flag("--evaluator", evaluator);
  app.add_subcommand("version", "Version");
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return DescribeUsageError(app, error);
  }
  return "";
}

TEST(UsageErrorTest, UnknownCommand) {
  EXPECT_EQ(ErrorOf("verson"),
            "unknown command 'verson'; did you mean 'version'? "
            "(see capstan --help)");
  EXPECT_EQ(ErrorOf("frobnicate"),
            "unknown command 'frobnicate' (see capstan --help)");
  EXPECT_EQ(ErrorOf("verson --all"),
            "unknown command 'verson'; did you mean 'version'? "
            "(see capstan --help)");
}

TEST(UsageErrorTest, UnknownFlag) {
  EXPECT_EQ(ErrorOf("run --evalutor"),
            "unknown flag '--evalutor'; did you mean '--evaluator'? "
            "(see capstan run --help)");
  EXPECT_EQ(ErrorOf("run --worker=3"),
            "unknown flag '--worker'; did you mean '--workers'? "
            "(see capstan run --help)");
  EXPECT_EQ(ErrorOf("run -evaluator"),
            "unknown flag '-evaluator'; did you mean '--evaluator'? "
            "(see capstan run --help)");
  EXPECT_EQ(ErrorOf("run -x"), "unknown flag '-x' (see capstan run --help)");
  EXPECT_EQ(ErrorOf("--hlep"),
            "unknown flag '--hlep'; did you mean '--help'? "
            "(see capstan --help)");
}

TEST(UsageErrorTest, WhatIsTooMuchOrMissing) {
  EXPECT_EQ(ErrorOf("version now"),
            "unexpected 'now' (see capstan version --help)");
  EXPECT_EQ(ErrorOf(""),
            "a command is missing: run, version (see capstan --help)");
}

TEST(UsageErrorTest, OtherErrorsKeepTheirText) {
  EXPECT_EQ(ErrorOf("run -w 10"),
            "--workers: Value 10 not in range 1 to 9 (see capstan run --help)");
}

}  // namespace
}  // namespace capstan
