// SPDX-License-Identifier: Apache-2.0
// climb/guest.hpp: a rung of the user's own, from a shared library by the C functions of upsweep/rung.h, and how it is tried.
#pragma once

#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "climb/problem.hpp"
#include "upsweep/rung.h"

namespace upsweep {

/// A problem that takes one.
struct GuestProblem {
  std::string_view problem;
  const char* function;                      ///< that a library has for it
  std::span<const std::string_view> arrays;  ///< its arrays, the first of Instance::arrays(), as rung.h calls them
};

/// A library that has been loaded, for one problem. It stays: groups name its rung, and its threads may go on.
class Guest {
 public:
  /// Throws invalid_argument for a file that is no such library, and for a problem that takes none.
  static const Guest& load(const std::string& path, std::string_view problem);

  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  [[nodiscard]] const RungInfo& info() const { return info_; }
  [[nodiscard]] const GuestProblem& problem() const { return problem_; }

  /// Calls the problem's function. Throws unsupported where it skips, and invalid_argument for an error of its own, which an
  /// exception is too.
  template <class Function, class... Arguments>
  void call(const Arguments&... arguments) const {
    int returned = 0;
    try {
      returned = reinterpret_cast<Function*>(function_)(arguments...);
    } catch (const std::exception& error) {
      refuse_exception(error.what());
    } catch (...) {
      refuse_exception("");
    }
    require_success(returned);
  }

 private:
  Guest(std::string id, void* function, const GuestProblem& problem);
  static void require_success(int returned);
  [[noreturn]] static void refuse_exception(std::string_view what);

  std::string id_;
  void* function_;
  const GuestProblem& problem_;
  RungInfo info_;
};

template <class T>
inline constexpr auto kCType = static_cast<upsweep_type>(type_of<T>());

/// Runs the guest on small instances of every type that the request asks for, with 1, 2 and 7 threads, and once on those that
/// it asks for, in a process of their own. What is wrong with it, by the type; a type that is right has none.
std::map<Type, Error> try_guest(const Guest& guest, const ClimbRequest& request, const Problem& problem,
                                const ClimbProgress& progress);

}  // namespace upsweep
