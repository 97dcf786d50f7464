// SPDX-License-Identifier: Apache-2.0
// tests/emulated_gpu.cpp: replaces src/cuda's staging and programs: kernels run on the CPU, so that tests need no GPU.
//
// The C++ compiler compiles a program, which is then loaded. A block's threads are fibers: one runs until it has to
// wait for its warp or its block, then the next one runs. This finds wrong answers, but not races: two threads never
// run at the same time.
#include <dlfcn.h>
#include <ucontext.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/nvrtc.hpp"
#include "cuda/program.hpp"
#include "scale/staging.hpp"
#include "system/recent_values.hpp"
#include "tests/temporary_folder.hpp"

namespace upsweep::gpu {
namespace {

// -------------------------------------------------------------------------------------------------------------- fibers

constexpr std::size_t kStackBytes = 256 << 10;
constexpr int kWarp = 32;

struct Barrier {
  int waiting = 0;
  int passed = 0;
};

using JumpBuffer = std::array<void*, 5>;  // written by __builtin_setjmp()

/// Runs a block's threads one after the other. Fibers are reused until the block size changes.
struct Fiber {
  ucontext_t context = {};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  JumpBuffer place = {};
  bool started = false;
  bool done = false;
};

/// The block that is running.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<Barrier> warps;
  std::vector<std::array<std::uint64_t, kWarp>> exchange;
  Barrier all;
  JumpBuffer scheduler = {};
  int now = 0;
  const std::function<void()>* kernel = nullptr;
};
Block block;

Fiber& running() { return block.fibers[static_cast<std::size_t>(block.now)]; }

/// A fiber resumes here. The code that ran in between may have written anywhere, also to registers, which Clang does
/// not expect.
[[gnu::always_inline]] inline void forget() {
#ifdef __x86_64__
  asm volatile("" : : : "memory", "rbx", "r12", "r13", "r14", "r15");
#else
  asm volatile("" : : : "memory");
#endif
}

[[gnu::noinline]] void go_on_at(JumpBuffer& there) { __builtin_longjmp(there.data(), 1); }

/// Leaves the fiber `here` and resumes `there`. swapcontext() would also change the signal mask. That is a system call
/// each time, which took half of the time of the tests.
[[gnu::noinline]] void jump(JumpBuffer& here, JumpBuffer& there) {
  if (__builtin_setjmp(here.data()) == 0) go_on_at(there);  // not in one function: GCC would see no path back to it
  forget();
}

void yield() { jump(running().place, block.scheduler); }

[[gnu::noinline]] void start(Fiber& fiber) {
  fiber.started = true;
  if (__builtin_setjmp(block.scheduler.data()) == 0) setcontext(&fiber.context);
  forget();
}

void wait(Barrier& barrier, int threads) {
  const int turn = barrier.passed;
  if (++barrier.waiting == threads) {
    barrier.waiting = 0;
    ++barrier.passed;
    return;
  }
  while (barrier.passed == turn) yield();
}

void run_fiber() {
  for (;;) {
    (*block.kernel)();
    running().done = true;
    yield();
  }
}

void make(Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_fiber, 0);
}

void run_block(int threads, const std::function<void()>& kernel) {
  const auto count = static_cast<std::size_t>(threads);
  if (block.fibers.size() != count) {
    block.fibers = std::vector<Fiber>(count);
    for (Fiber& fiber : block.fibers) make(fiber);
  }
  block.warps.assign(count / kWarp, {});
  block.exchange.resize(count / kWarp);
  block.all = {};
  block.kernel = &kernel;
  for (Fiber& fiber : block.fibers) fiber.done = false;
  for (int left = threads; left > 0;) {
    for (block.now = 0; block.now < threads; ++block.now) {
      Fiber& fiber = running();
      if (fiber.done) continue;
      if (fiber.started) {
        jump(block.scheduler, fiber.place);
      } else {
        start(fiber);
      }
      if (fiber.done) --left;
    }
  }
}

// ----------------------------------------------------------------------------------------- what programs are linked to

/// Returns every lane's value, after all lanes have arrived.
const std::uint64_t* exchange(std::uint64_t value) {
  const auto warp = static_cast<std::size_t>(block.now / kWarp);
  wait(block.warps[warp], kWarp);  // the values of the previous exchange have been read
  block.exchange[warp][static_cast<std::size_t>(block.now % kWarp)] = value;
  wait(block.warps[warp], kWarp);
  return block.exchange[warp].data();
}

struct Runtime {
  int (*thread)() = [] { return block.now; };
  void (*sync_block)() = [] { wait(block.all, static_cast<int>(block.fibers.size())); };
  void (*sync_warp)() = [] { wait(block.warps[static_cast<std::size_t>(block.now / kWarp)], kWarp); };
  const std::uint64_t* (*exchange)(std::uint64_t) = &gpu::exchange;
};

constexpr const char* kPrelude = R"(
#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
struct Runtime {
  int (*thread)();
  void (*sync_block)();
  void (*sync_warp)();
  const unsigned long* (*exchange)(unsigned long);
};
extern "C" { Runtime runtime; unsigned emulated_block, emulated_blocks; unsigned long long cells[1 << 15]; }
struct Index { unsigned x; };
#define fabs __builtin_fabs
#define sqrt __builtin_sqrt
#define copysign __builtin_copysign
#define threadIdx (Index{(unsigned)runtime.thread()})
#define blockIdx (Index{emulated_block})
#define gridDim (Index{emulated_blocks})
static inline void __syncthreads() { runtime.sync_block(); }
static inline void __syncwarp() { runtime.sync_warp(); }
static inline void __threadfence() {}
template <class T> static T __ldg(const T* p) { return *p; }
template <class T> static T __ldcg(const T* p) { return *p; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static inline double __longlong_as_double(long long x) { double d; __builtin_memcpy(&d, &x, 8); return d; }
static inline long long __double_as_longlong(double d) { long long x; __builtin_memcpy(&x, &d, 8); return x; }
static inline unsigned long long __shfl_down_sync(unsigned, unsigned long long x, int d) {
  const int lane = runtime.thread() % 32;
  return runtime.exchange(x)[lane + d < 32 ? lane + d : lane];
}
static inline bool __any_sync(unsigned, bool x) {
  const unsigned long* all = runtime.exchange(x);
  bool any = false;
  for (int i = 0; i < 32; ++i) any |= all[i] != 0;
  return any;
}
static inline unsigned __match_any_sync(unsigned, long long x) {
  const unsigned long* all = runtime.exchange((unsigned long)x);
  unsigned same = 0;
  for (int i = 0; i < 32; ++i) same |= (unsigned)(all[i] == (unsigned long)x) << i;
  return same;
}
template <class T> static T atomicCAS(T* p, T old, T value) { const T was = *p; if (was == old) *p = value; return was; }
template <class T> static T atomicAdd(T* p, T value) { const T was = *p; *p += value; return was; }
template <class T> static T atomicExch(T* p, T value) { const T was = *p; *p = value; return was; }
)";

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- program

struct Program::State {
  void* library = nullptr;

  explicit State(std::string source) {
    if (std::getenv("UPSWEEP_TEST_NVRTC") != nullptr) (void)compiled(source, 9, 0);
    const tests::TemporaryFolder folder;
    const std::string file = folder.path() / "program.cpp";
    const std::string object = folder.path() / "program.so";
    replace(source, "extern __shared__", "extern");
    replace(source, "__shared__", "static");
    std::ofstream(file) << kPrelude << source;
    const char* const compiler = std::getenv("UPSWEEP_TEST_CXX");
    const std::string command = std::string(compiler != nullptr ? compiler : "c++") +
                                " -std=c++20 -O0 -w -ffp-contract=off -fwrapv -fPIC -shared -o " + object + " " + file;
    // NOLINTNEXTLINE(bugprone-command-processor): the compiler that built this test
    if (std::system(command.c_str()) != 0) throw std::runtime_error("not compiled: " + source);
    library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    *find<Runtime>("runtime") = Runtime{};
  }
  template <class T>
  [[nodiscard]] T* find(const char* name) const {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<T*>(symbol);
  }
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

void Program::launch(const char* kernel, std::int64_t blocks, int threads, std::int64_t shared_bytes, Stream,
                     std::span<const std::uint64_t> words) const {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // A struct of N words is passed on the stack, like an array.
  struct Words {
    std::uint64_t w[512];
  };
  Words all = {};
  if (words.size() > std::size(all.w) || shared_bytes > (1 << 18))
    throw std::runtime_error("too much for the emulation");
  std::copy(words.begin(), words.end(), all.w);
  const bool is_one = words.size() == 1;  // a struct of one word is passed in a register
  const auto function = is_one ? nullptr : state_->find<void(Words)>(kernel);
  const auto of_one = is_one ? state_->find<void(std::uint64_t)>(kernel) : nullptr;
  *state_->find<unsigned>("emulated_blocks") = static_cast<unsigned>(blocks);
  const std::function<void()> thread = [&] { is_one ? of_one(words[0]) : function(all); };
  for (std::int64_t b = 0; b < blocks; ++b) {
    *state_->find<unsigned>("emulated_block") = static_cast<unsigned>(b);
    std::memset(state_->find<void>("cells"), 0xA5, 1 << 18);  // the contents of shared memory are arbitrary
    run_block(threads, thread);
  }
}

std::shared_ptr<const Program> program_of(const std::string& source, int /*device*/, double& seconds) {
  static RecentValues<std::string, Program> programs(kMostPrograms);
  seconds += 1e-9;
  return programs.get(source,
                      [&] { return std::make_shared<const Program>(std::make_unique<Program::State>(source)); });
}

LaunchLimits launch_limits(int /*device*/) {
  return {.multiprocessors = 2, .shared_per_block = 64 << 10, .shared_per_multiprocessor = 100 << 10};
}

// ------------------------------------------------------------------------------------------------------------- staging

struct Staging::State {
  MemoryResource* memory = nullptr;  ///< called, so that it can refuse and count; its memory is not used
  std::map<int, std::vector<char>> arrays;
  std::map<int, std::vector<char>> host_arrays;
  StagingTimes times;

  ~State() {
    for (const auto& [which, array] : arrays) give_back(array);
  }
  void give_back(const std::vector<char>& array) {
    if (memory != nullptr && !array.empty()) memory->deallocate(nullptr, std::ssize(array), nullptr);
  }
  static void* grown(std::vector<char>& array, std::int64_t bytes) {
    // New memory whenever it grows, filled with bytes that no test expects.
    if (static_cast<std::int64_t>(array.size()) < bytes)
      array = std::vector<char>(static_cast<std::size_t>(bytes), '\x5A');
    return array.data();
  }
};

Staging::Staging(const Policy& policy) : state_(std::make_unique<State>()) { state_->memory = policy.memory; }
Staging::~Staging() = default;
void* Staging::array(int which, std::int64_t bytes) {
  std::vector<char>& array = state_->arrays[which];
  if (bytes > std::ssize(array) && state_->memory != nullptr) {
    state_->give_back(array);
    array.clear();
    (void)state_->memory->allocate(bytes, nullptr);
  }
  return State::grown(array, bytes);
}
void* Staging::host_array(int which, std::int64_t bytes) { return State::grown(state_->host_arrays[which], bytes); }
void* Staging::upload(int which, const void* from, std::int64_t bytes) {
  return std::memcpy(array(which, bytes), from, static_cast<std::size_t>(bytes));
}
void Staging::download(void* to, int which, std::int64_t bytes) {
  std::memcpy(to, array(which, bytes), static_cast<std::size_t>(bytes));
}
void Staging::copy_in(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
void Staging::copy_out(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
void Staging::start_copies(int /*slot*/, std::span<const Copy> copies) {
  for (const Copy& copy : copies) copy_in(copy.to, copy.from, copy.bytes);
}
void Staging::wait(int /*slot*/) {}
void Staging::compute(const std::function<void(const Policy&)>& run) { run({}); }
void Staging::compute_and_fetch(const std::function<void(const Policy&)>& run, void* to, const void* from,
                                std::int64_t bytes) {
  run({});
  copy_out(to, from, bytes);
}
void Staging::fill(void* to, int byte, std::int64_t bytes) { std::memset(to, byte, static_cast<std::size_t>(bytes)); }
int Staging::device() const { return 0; }
const StagingTimes& Staging::times() const { return state_->times; }

}  // namespace upsweep::gpu
