// Describes in one line what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace capstan {

// The exit code for a wrong command line.
inline constexpr int kUsageExitCode = 2;

// A line, without the newline, about `error`, which app.parse threw: "unknown
// command 'verson'; did you mean 'version'? (see capstan --help)".
std::string DescribeUsageError(const CLI::App& app,
                               const CLI::ParseError& error);

}  // namespace capstan
