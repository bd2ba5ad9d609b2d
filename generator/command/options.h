// Subcommands and their options, in the words of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tw {

/// `examples` end its help, with whatever else stands there.
inline CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& about,
                             const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, about);
  command->footer("Examples:\n" + examples);
  return command;
}

/// `type`: what help calls the value, "FILE".
template <typename T>
CLI::Option* add_value(CLI::App* command, const std::string& name, T& value,
                       const std::string& type, const std::string& about) {
  return command->add_option(name, value, about)->type_name(type);
}

/// Likewise of an option that may be given several times, a value each.
inline CLI::Option* add_values(CLI::App* command, const std::string& name,
                               std::vector<std::string>& values, const std::string& type,
                               const std::string& about) {
  return add_value(command, name, values, type, about)->allow_extra_args(false);
}

}  // namespace tw
