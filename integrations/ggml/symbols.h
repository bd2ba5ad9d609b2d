// The host's functions by their names.
#pragma once

#include <initializer_list>

#include "integrations/common/message.h"

namespace tw::ggml {

/// Null: this host has none.
void* find_symbol(const char* name);
/// Of the library of OpenMP's that is loaded; null: none is.
void* find_openmp_symbol(const char* name);

template <class Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(find_symbol(name));
}

/// Of the names the first that this host has.
template <class Function>
Function* first_function(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (Function* const found = find_function<Function>(name)) return found;
  }
  return nullptr;
}

/// Says so where the host lacks what we cannot do without.
template <class Function>
bool find_into(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_symbol(name));
  if (function == nullptr) message("this ggml has no {}; llama.cpp goes on without us", name);
  return function != nullptr;
}

}  // namespace tw::ggml
