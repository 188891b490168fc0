// What the commands share that start a program of the user's: "capstan run
// [OPTIONS] -- PROGRAM [ARGS]".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace capstan {

// Lets `command` take PROGRAM, which is put into `program`, and leaves what
// follows as it is. `usage` is the first line of its help. Both must outlive
// the parsing.
void TakeProgram(CLI::App& command, std::string& program, std::string usage);

// After the parsing: PROGRAM and its arguments, which come after "--": only
// then are they certain not to be meant for us. Throws CLI::ParseError.
std::vector<std::string> ProgramArguments(const CLI::App& command,
                                          const std::string& program);

// Where this process looks for programs.
std::string SearchPath();

// `path` from the root on, as the program may go to another folder before it
// uses it; "" for "".
std::string AbsolutePath(const std::string& path);

}  // namespace capstan
