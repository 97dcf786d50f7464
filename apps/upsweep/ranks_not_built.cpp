// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ranks_not_built.cpp: refuses --mpi in a build without MPI.
#include "ranks.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {

struct Ranks::State {};

Ranks::Ranks(const std::string& /*command_line*/) {
  throw Error(Code::not_built,
              "--mpi: this build of upsweep has no MPI; install one, such as libopenmpi-dev, and build it again");
}
Ranks::~Ranks() = default;

int Ranks::rank() const { return 0; }
int Ranks::size() const { return 1; }
std::vector<std::string> Ranks::share_of(const std::vector<std::string>& files) const { return files; }
void Ranks::run(const std::function<void()>& f) { f(); }
void Ranks::settle() {}
std::vector<std::string> Ranks::gather(const std::string& bytes) const { return {bytes}; }
std::string Ranks::from_first(const std::string& text) const { return text; }
void Ranks::send(int /*rank*/, const std::string& /*bytes*/) const {}
std::string Ranks::receive(int /*rank*/) const { return {}; }

}  // namespace upsweep::command
