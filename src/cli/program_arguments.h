// Shared by the commands that start a user's program: "capstan run [OPTIONS] --
// PROGRAM [ARGS]".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace capstan {

// Makes `command` store PROGRAM in `program` and leave the arguments after it
// unparsed. `usage` is the first line of the command's help. `command` and
// `program` must outlive the parsing.
void TakeProgram(CLI::App& command, std::string& program, std::string usage);

// After the parsing: PROGRAM and its arguments, which must follow "--", so that
// they cannot be mistaken for capstan's own. Throws CLI::ParseError.
std::vector<std::string> ProgramArguments(const CLI::App& command,
                                          const std::string& program);

// The directories in which this process looks for programs.
std::string SearchPath();

// `path` as an absolute path, because the program may change its directory
// before it uses the path; "" for "".
std::string AbsolutePath(const std::string& path);

}  // namespace capstan
