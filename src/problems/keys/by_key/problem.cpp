// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <exception>
#include <string>

#include "core/apart.hpp"
#include "core/checked.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/keys/by_key/key_runs.hpp"
#include "problems/keys/by_key/rung.hpp"

namespace upsweep {
namespace impl::by_key {

// The ladder, from the naive loop up. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_runs, cuda_cub, cuda_runs;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_runs, &cuda_cub, &cuda_runs};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_runs : &cpu_runs, call, policy);
}

void require_arrays(const Call& call) {
  const std::int64_t n = call.keys.length;
  const detail::ElementsCall& elements = elements_of(call);
  detail::require_array(call.keys.data, n, "keys");
  detail::require_array(elements.in, n, "values");
  const std::int64_t results = call.scan != nullptr ? n : call.capacity;
  detail::require_array(elements.out, results, "output");
  CallArrays arrays;
  arrays.read(call.keys.data, n, size_of(call.keys.type));
  arrays.write(elements.out, results, elements.out_size);
  if (call.scan != nullptr) {
    if (!detail::same_or_apart(elements.in, n * elements.in_size, elements.out, n * elements.out_size)) {
      throw Error(Code::invalid_argument, "the output overlaps the values: use the same memory or separate memory");
    }
  } else {
    detail::require_array(call.out_keys, call.keys_capacity, "the keys of the runs");
    arrays.read(elements.in, n, elements.in_size);
    arrays.write(call.out_keys, call.keys_capacity, size_of(call.keys.type));
  }
  arrays.require_apart();
}

void require_memory(const gpu::Policy& policy, const Call& call) {
  const std::int64_t n = call.keys.length;
  const detail::ElementsCall& elements = elements_of(call);
  gpu::require_device_array(call.keys.data, n, policy.device, "keys");
  gpu::require_device_array(elements.in, n, policy.device, "values");
  gpu::require_device_array(elements.out, call.scan != nullptr ? n : call.capacity, policy.device, "output");
  gpu::require_device_array(call.out_keys, call.keys_capacity, policy.device, "the keys of the runs");
}

/// Throws the Error of a rung's failure if its cause is known. count() returns the number of runs.
template <class Count>
void throw_known(Code code, std::int64_t index, const Call& call, Count count) {
  if (code == Code::unequal_lengths) {
    const std::int64_t runs = count();
    require_capacity("the output of keys", call.keys_capacity, runs);
    require_capacity("the output of values", call.capacity, runs);
  }
  if (code == Code::overflow && index != kNoIndex) {
    throw Error(code,
                (call.scan != nullptr ? "a sum of run " : "the sum of run ") + std::to_string(index) +
                    " of equal keys does not fit " + std::string(name(elements_of(call).out_type)) +
                    ": choose a wider type, or let it wrap",
                index);
  }
  if (call.failure != nullptr) std::rethrow_exception(call.failure);
}

/// Memory for the runs comes from the policy's resource. The policy's workspace is reserved for the work on the runs.
gpu::Policy without_workspace(gpu::Policy policy) {
  policy.workspace = nullptr;
  return policy;
}

}  // namespace
}  // namespace impl::by_key

ReducedByKey detail::run_by_key(const Policy& policy, ByKeyCall call) {
  require_policy(policy);
  impl::by_key::require_arrays(call);
  if (call.reduction != nullptr) require_checks(*call.reduction, policy.overflow);
  if (call.scan != nullptr) require_checks(*call.scan, policy.overflow);
  const auto& rung = impl::by_key::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) {
    impl::by_key::throw_known(status.code, status.index, call,
                              [&] { return count_key_runs(policy.with_rung({}), call.keys); });
    throw_status(status, rung.info.id);
  }
  return {call.runs, rung.info.id};
}

ReducedByKey detail::run_by_key(const gpu::Policy& policy, ByKeyCall call) {
  impl::by_key::require_arrays(call);
  gpu::require_no_capture(policy.stream, "the calls of segmented_reduce.hpp in ..._async, with existing offsets");
  if (call.reduction != nullptr) require_checks(*call.reduction, policy.overflow);
  if (call.scan != nullptr) require_checks(*call.scan, policy.overflow);
  const ElementsCall& elements = impl::by_key::elements_of(call);
  call.device_policy = &policy;
  call.checked = policy.overflow == Overflow::checked && elements.op == Operator::add && is_integer(elements.out_type);
  gpu::CallOnDevice on_device(impl::by_key::without_workspace(policy), call, &impl::by_key::choose);
  impl::by_key::require_memory(policy, call);
  on_device.allocate();
  try {
    on_device.run();
  } catch (const Error& error) {
    impl::by_key::throw_known(error.code(), error.index(), call, [&] { return call.runs; });
    throw;
  }
  return {call.runs, on_device.rung().id};
}

}  // namespace upsweep
