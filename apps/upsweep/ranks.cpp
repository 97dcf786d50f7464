// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ranks.cpp: the processes of one run under mpirun, by MPI.
#include "ranks.hpp"

#include <algorithm>
#include <exception>

#include "output.hpp"
#include "upsweep/mpi.hpp"

namespace upsweep::command {
namespace {

namespace mpi = upsweep::mpi::detail;

mpi::Signature signature(const std::string& command_line) {
  mpi::Hash words;
  for (const char c : command_line) words << c;
  return {.call = static_cast<std::uint64_t>(mpi::Function::command), .arguments = words.sum()};
}

// MPI counts bytes in an int: longer data is sent in chunks.
constexpr std::size_t kChunk = std::size_t{1} << 30;

}  // namespace

struct Ranks::State {
  explicit State(const std::string& command_line) : call(MPI_COMM_WORLD, signature(command_line)) {}
  mpi::Call call;
  bool all_know = false;  ///< whether all ranks have the error that is being thrown
};

Ranks::Ranks(const std::string& command_line) {
  int provided = 0;
  mpi::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  try {
    state_ = std::make_unique<State>(command_line);
  } catch (const Error&) {  // the same error on all ranks
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    if (rank != 0) throw ReportedElsewhere{};
    throw;
  }
  if (rank() != 0) end_silently_on_interrupt();  // rank 0 prints the line about Ctrl-C
}

Ranks::~Ranks() {
  if (std::uncaught_exceptions() > 0 && !state_->all_know) MPI_Abort(MPI_COMM_WORLD, exit_code(Code::communication));
  MPI_Finalize();
}

int Ranks::rank() const { return state_->call.rank(); }
int Ranks::size() const { return state_->call.size(); }

std::vector<std::string> Ranks::share_of(const std::vector<std::string>& files) const {
  // Rounded up, so that rank 0, which reports, has some files.
  const auto border = [&](int rank) {
    const auto ranks = static_cast<std::size_t>(size());
    return static_cast<std::ptrdiff_t>((files.size() * static_cast<std::size_t>(rank) + ranks - 1) / ranks);
  };
  return {files.begin() + border(rank()), files.begin() + border(rank() + 1)};
}

void Ranks::run(const std::function<void()>& f) { state_->call.run(0, f); }

void Ranks::settle() {
  try {
    state_->call.settle();
  } catch (const Error&) {
    state_->all_know = true;
    if (!reports()) throw ReportedElsewhere{};
    throw;
  }
}

std::vector<std::string> Ranks::gather(const std::string& bytes) const {
  std::string all(bytes.size() * static_cast<std::size_t>(size()), '\0');
  const auto count = static_cast<int>(bytes.size());
  mpi::check(MPI_Allgather(bytes.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD),
             "MPI_Allgather");
  std::vector<std::string> each;
  for (std::size_t at = 0; at < all.size(); at += bytes.size()) each.push_back(all.substr(at, bytes.size()));
  return each;
}

std::string Ranks::from_first(const std::string& text) const {
  auto length = static_cast<std::uint64_t>(text.size());
  state_->call.broadcast(&length, sizeof length);
  std::string all = text;
  all.resize(length);
  state_->call.broadcast(all.data(), static_cast<std::int64_t>(length));
  return all;
}

void Ranks::send(int rank, const std::string& bytes) const {
  const auto length = static_cast<std::uint64_t>(bytes.size());
  mpi::check(MPI_Send(&length, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD), "MPI_Send");
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const auto count = static_cast<int>(std::min(kChunk, bytes.size() - at));
    mpi::check(MPI_Send(bytes.data() + at, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD), "MPI_Send");
  }
}

std::string Ranks::receive(int rank) const {
  std::uint64_t length = 0;
  mpi::check(MPI_Recv(&length, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
  std::string bytes(length, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const auto count = static_cast<int>(std::min(kChunk, bytes.size() - at));
    mpi::check(MPI_Recv(bytes.data() + at, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  return bytes;
}

}  // namespace upsweep::command
