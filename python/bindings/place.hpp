// SPDX-License-Identifier: Apache-2.0
// bindings/place.hpp: where and how a call from Python runs, without the interpreter's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "upsweep/gpu.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::python {

/// The settings of a call from `upsweep.options` and its arrays.
struct CallPlace {
  int threads = 0;
  std::string rung = {};
  bool checked = false;
  int device = -1;  ///< a GPU's ordinal; -1: the CPU
  std::uintptr_t stream = 0;

  /// Calls on fewer elements keep the interpreter's lock: releasing and acquiring it takes longer than the calls.
  static constexpr std::int64_t kKeepsLock = 4096;

  [[nodiscard]] bool is_gpu() const { return device >= 0; }
  [[nodiscard]] Policy cpu_policy() const {
    return {.threads = threads, .rung = rung, .overflow = checked ? Overflow::checked : Overflow::wrap};
  }
  [[nodiscard]] gpu::Policy gpu_policy() const {
    gpu::Policy policy;
    policy.device = device;
    policy.stream = reinterpret_cast<gpu::Stream>(stream);  // NOLINT(performance-no-int-to-ptr): a handle from Python
    policy.rung = rung;
    policy.overflow = checked ? Overflow::checked : Overflow::wrap;
    return policy;
  }

  [[nodiscard]] bool keeps_lock(std::int64_t elements) const { return elements <= kKeepsLock && !is_gpu(); }
  /// Calls call(policy) with a Policy or a gpu::Policy; `call` must not use Python.
  template <class Call>
  auto run(std::int64_t elements, Call&& call) const {
    std::optional<nanobind::gil_scoped_release> released;
    if (!keeps_lock(elements)) released.emplace();
    return is_gpu() ? call(gpu_policy()) : call(cpu_policy());
  }
};

/// Returns the policy for an operator. Only additions are checked: other operators wrap (modulo 2^bits) if "checked" is
/// only the default. If the caller requested "checked" for them, the Python code has already refused it.
template <class AnyPolicy>
AnyPolicy policy_for(const AnyPolicy& policy, Operator op) {
  return op == Operator::add ? policy : policy.with_overflow(Overflow::wrap);
}

/// A boolean argument of any type: `numpy.True_` and 1 are also true.
struct Truth {
  bool value = false;
  operator bool() const { return value; }  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace upsweep::python

template <>
struct nanobind::detail::type_caster<upsweep::python::Truth> {
  NB_TYPE_CASTER(upsweep::python::Truth, const_name("bool"))

  bool from_python(handle source, std::uint8_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    const int truth = PyObject_IsTrue(source.ptr());
    if (truth < 0) PyErr_Clear();
    value.value = truth > 0;
    return truth >= 0;
  }
  static handle from_cpp(upsweep::python::Truth truth, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return handle(truth.value ? Py_True : Py_False).inc_ref();
  }
};
