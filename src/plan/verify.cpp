// SPDX-License-Identifier: Apache-2.0
// plan/verify.cpp: checks what no single call of the builder can check: columns and parameters have one use.
#include <map>

#include "plan/program.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan::detail {
namespace {

/// Throws if an earlier use of the same column or parameter differs.
class Uses {
 public:
  explicit Uses(const char* what) : what_(what) {}
  void add(std::int64_t index, const std::string& use) {
    const auto [found, is_new] = uses_.emplace(index, use);
    if (is_new || found->second == use) return;
    throw Error(Code::invalid_argument, "plan: " + std::string(what_) + " " + std::to_string(index) + " is used as " +
                                            found->second + " and as " + use + "; give them two numbers");
  }

 private:
  const char* what_;
  std::map<std::int64_t, std::string> uses_;
};

}  // namespace

void Program::verify() const {
  Uses columns("column"), parameters("parameter");
  for (const DomainNode& d : domains) {
    if (d.kind != DomainKind::list) continue;
    columns.add(d.payload, "offsets of " + std::string(name(static_cast<ElementType>(d.flag))) + " over d" +
                               std::to_string(d.parent));
  }
  for (const Node& n : nodes) {
    const std::string type(name(n.type));
    switch (n.kind) {
      case Kind::column:
        columns.add(n.payload, type + " over d" + std::to_string(n.domain));
        break;
      case Kind::lookup:
        columns.add(n.payload, "a table of " + type);
        break;
      case Kind::search:
        columns.add(n.payload, "a table of " + std::string(name(at(n.args[0]).type)));
        break;
      case Kind::parameter:
        parameters.add(n.payload, type);
        break;
      default:
        break;
    }
  }
  if (outputs.empty() && checks.empty() && histograms.empty()) {
    throw Error(Code::invalid_argument, "plan: the program has no output; call output() or histogram()");
  }
}

}  // namespace upsweep::plan::detail
