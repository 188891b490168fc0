// What is wrong with a command line, in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace capstan {

// The exit code of a command line that is wrong.
inline constexpr int kUsageExitCode = 2;

// A line, without its end, about `error`, which app.parse has thrown: "unknown
// command 'verson'; did you mean 'version'? (see capstan --help)".
std::string DescribeUsageError(const CLI::App& app,
                               const CLI::ParseError& error);

}  // namespace capstan
