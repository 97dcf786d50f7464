// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/apart.hpp"
#include "core/checked.hpp"
#include "core/lists.hpp"
#include "core/visit.hpp"
#include "cpu/refusals.hpp"
#include "cuda/list_call.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::group_by {

// The ladder, from the naive loop up. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_thread_maps, cpu_partitioned, cpu_sorted, cpu_direct, cpu_adaptive;
extern const Rung cuda_hash, cuda_shared, cuda_partitioned, cuda_cub, cuda_sort, cuda_adaptive;

constexpr const Rung* kRungs[] = {&cpu_serial,       &cpu_thread_maps, &cpu_partitioned, &cpu_sorted,
                                  &cpu_direct,       &cpu_adaptive,    &cuda_hash,       &cuda_shared,
                                  &cuda_partitioned, &cuda_cub,        &cuda_sort,       &cuda_adaptive};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_adaptive : &cpu_adaptive, call, policy);
}

void require_arrays(const Call& call) {
  detail::require_array(call.keys, call.n, "keys");
  detail::require_array(call.in, call.n, "values");
  detail::require_array(call.out_keys, call.keys_capacity, "the keys of the groups");
  detail::require_array(call.out, call.capacity, "output");
  detail::require_array(call.out_counts, call.counts_capacity, "counts");
  CallArrays arrays;
  arrays.read(call.keys, call.n, size_of(call.key_type));
  arrays.read(call.in, call.n, size_of(call.in_type));
  arrays.write(call.out_keys, call.keys_capacity, size_of(call.key_type));
  arrays.write(call.out, call.capacity, size_of(call.out_type));
  arrays.write(call.out_counts, call.counts_capacity, sizeof(std::int64_t));
  arrays.require_apart();
}

void require_types(const Call& call) {
  if (!is_integer(call.key_type)) {
    throw Error(Code::unsupported_type, "keys must be integers, not " + std::string(name(call.key_type)));
  }
  if (is_float(call.in_type) && is_integer_only(call.op)) {
    throw Error(Code::unsupported_type, std::string(name(call.op)) + " is only for integers");
  }
  if (const char* const reason = compiled_refusal(call.op, call.in_type, call.out_type)) {
    throw Error(Code::unsupported, std::string("group_by ") + reason);
  }
}

void require_memory(const gpu::Policy& policy, const Call& call) {
  gpu::require_device_array(call.keys, call.n, policy.device, "keys");
  gpu::require_device_array(call.in, call.n, policy.device, "values");
  gpu::require_device_array(call.out_keys, call.keys_capacity, policy.device, "the keys of the groups");
  gpu::require_device_array(call.out, call.capacity, policy.device, "output");
  gpu::require_device_array(call.out_counts, call.counts_capacity, policy.device, "counts");
}

/// Throws the Error of a rung's failure if its cause is known. key_of(row) returns a key as text.
template <class KeyOf>
void throw_known(Code code, std::int64_t index, const Call& call, KeyOf key_of) {
  if (code == Code::unequal_lengths) {
    require_capacity("the output of keys", call.keys_capacity, call.groups);
    require_capacity("the output of values", call.capacity, call.groups);
    if (call.out_counts != nullptr) require_capacity("the output of counts", call.counts_capacity, call.groups);
  }
  if (code == Code::overflow && index != kNoIndex) {
    throw Error(code,
                "the sum of group " + std::to_string(index) + ", of key " + key_of(call.bad_row) + ", does not fit " +
                    std::string(name(call.out_type)) + ": choose a wider type, or let it wrap",
                index);
  }
  if (call.failure != nullptr) std::rethrow_exception(call.failure);
}

template <class T>
std::string text_of(T key) {
  return std::to_string(key);
}

}  // namespace
}  // namespace impl::group_by

Grouped detail::run_group_by(const Policy& policy, GroupByCall call) {
  require_policy(policy);
  impl::group_by::require_types(call);
  impl::group_by::require_arrays(call);
  require_checks(call, policy.overflow);
  call.checked = cpu::is_checked(call, policy);
  const auto& rung = impl::group_by::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) {
    impl::group_by::throw_known(status.code, status.index, call, [&](std::int64_t row) {
      return visit_type(call.key_type, [&]<class T>(std::type_identity<T>) {
        return impl::group_by::text_of(static_cast<const T*>(call.keys)[row]);
      });
    });
    throw_status(status, rung.info.id);
  }
  return {call.groups, rung.info.id};
}

Grouped detail::run_group_by(const gpu::Policy& policy, GroupByCall call) {
  impl::group_by::require_types(call);
  impl::group_by::require_arrays(call);
  gpu::require_no_capture(policy.stream, "another call: this one waits for the number of groups");
  gpu::Policy at = policy;
  at.workspace = nullptr;  // the memory depends on the number of groups, which is not known before
  call.device_policy = &at;
  gpu::CallOnDevice on_device(at, call, &impl::group_by::choose);
  impl::group_by::require_memory(policy, call);
  on_device.allocate();
  try {
    on_device.run();
  } catch (const Error& error) {
    impl::group_by::throw_known(error.code(), error.index(), call, [&](std::int64_t row) {
      return visit_type(call.key_type, [&]<class T>(std::type_identity<T>) {
        T key{};
        gpu::fetch(&key, static_cast<const T*>(call.keys) + row, sizeof key, policy.stream);
        return impl::group_by::text_of(key);
      });
    });
    throw;
  }
  return {call.groups, on_device.rung().id};
}

}  // namespace upsweep
