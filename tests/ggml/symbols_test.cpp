// The host's functions, however it has loaded its libraries.
#include "integrations/ggml/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace tw::ggml {
namespace {

TEST(Symbols, AreFoundInLibrariesThatTheHostHasForItself) {
  if (dlsym(RTLD_DEFAULT, "ggml_tensor_overhead") == nullptr) {
    GTEST_SKIP() << "a static program: a plug-in finds no names in it";
  }
  constexpr const char* kName = "ggml_of_one_library";
  EXPECT_EQ(find_symbol(kName), nullptr);
  void* library = dlopen(TILEWRIGHT_LOCAL_HOST, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  ASSERT_EQ(dlsym(RTLD_DEFAULT, kName), nullptr);
  const auto function = find_function<int()>(kName);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function(), 7);
  EXPECT_EQ(find_symbol("ggml_of_no_library"), nullptr);
  dlclose(library);
}

}  // namespace
}  // namespace tw::ggml
