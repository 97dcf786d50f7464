// SPDX-License-Identifier: Apache-2.0
// climb/guest.hpp: a custom rung from a shared library with the C functions of upsweep/rung.h, and its trials.
#pragma once

#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "climb/problem.hpp"
#include "upsweep/rung.h"

namespace upsweep {

/// A problem that accepts a custom rung.
struct GuestProblem {
  std::string_view problem;
  const char* function;                      ///< the library's function for it
  std::span<const std::string_view> arrays;  ///< its arrays, the first of Instance::arrays(), by their names in rung.h
};

/// A loaded library, for one problem. It stays loaded: groups name its rung, and its threads may continue.
class Guest {
 public:
  /// Throws invalid_argument for a file that is not such a library, and for a problem that accepts none.
  static const Guest& load(const std::string& path, std::string_view problem);

  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  [[nodiscard]] const RungInfo& info() const { return info_; }
  [[nodiscard]] const GuestProblem& problem() const { return problem_; }

  /// Calls the problem's function. Throws unsupported if it skips the call. Throws invalid_argument if it returns an
  /// error or throws an exception.
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

/// Runs the guest in a separate process. Runs it on small instances of every requested type with 1, 2 and 7 threads,
/// and once on the requested instances. Returns the errors by type; a type without an error has no entry.
std::map<Type, Error> try_guest(const Guest& guest, const ClimbRequest& request, const Problem& problem,
                                const ClimbProgress& progress);

}  // namespace upsweep
