// The part of fmt that is not templates, compiled once and for the target: fmt::fmt-header-only
// compiles it in each file, which takes longer than the file.
#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
}  // namespace detail
}  // namespace v9
}  // namespace fmt
