// SPDX-License-Identifier: Apache-2.0
// climb/guest.hpp: a custom rung from a shared library with the C functions of upsweep/rung.h, and its trials.
#pragma once

#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "climb/problem.hpp"
#include "upsweep/rung.h"

namespace upsweep {

/// An array of a guest.
struct GuestArray {
  std::string_view name;  ///< in rung.h
  int bytes = 0;          ///< of an element; 0: an element of the instance's type
};

/// A problem that accepts a custom rung.
struct GuestProblem {
  std::string_view problem;
  const char* on_cpu;                  ///< the library's function for it
  const char* on_gpu;                  ///< its function for a GPU; null: none
  std::span<const GuestArray> arrays;  ///< its arrays, the first of Instance::arrays()
};

/// A loaded library, for one problem. It stays loaded: groups name its rung, and its threads may continue.
class Guest {
 public:
  /// Throws invalid_argument for a file that is not such a library, and for a problem that accepts none. The library
  /// must have a function for the problem and the backend.
  static const Guest& load(const std::string& path, std::string_view problem, Backend backend);

  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  [[nodiscard]] const RungInfo& info() const { return info_; }
  [[nodiscard]] Backend backend() const { return backend_; }
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

  /// Calls the problem's function for the CPU with a number of threads, or its function for a GPU with a stream.
  template <class OnCpu, class OnGpu, class... Arguments>
  void call_at(const GuestPlace& place, const Arguments&... arguments) const {
    if (const int* const threads = std::get_if<int>(&place)) return call<OnCpu>(arguments..., *threads);
    call<OnGpu>(arguments..., std::get<gpu::Stream>(place));
  }

 private:
  using LastError = int (*)();

  Guest(std::string id, Backend backend, void* function, LastError last_error, const GuestProblem& problem);
  void require_success(int returned) const;
  [[noreturn]] static void refuse_exception(std::string_view what);

  std::string id_;
  Backend backend_;
  void* function_;
  LastError last_error_;  // of the library's CUDA runtime; may be null
  const GuestProblem& problem_;
  RungInfo info_;
};

template <class T>
inline constexpr auto kCType = static_cast<upsweep_type>(type_of<T>());

/// Runs the guest in a separate process, on small instances of every requested type and once on the requested
/// instances. On the CPU it runs with 1, 2 and 7 threads, on a GPU with aligned and misaligned arrays. Returns the
/// errors by type; a type without an error has no entry. Throws no_device if the separate process cannot use a GPU.
std::map<Type, Error> try_guest(const Guest& guest, const ClimbRequest& request, const Problem& problem,
                                const ClimbProgress& progress);

}  // namespace upsweep
