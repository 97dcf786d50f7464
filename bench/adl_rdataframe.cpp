// SPDX-License-Identifier: Apache-2.0
// bench/adl_rdataframe.cpp: ADL queries 4 to 8 for ROOT's RDataFrame, and a data source of columns in memory.
//
// adl_rdataframe.py compiles this file with ROOT. The types of all columns are in the code, so that RDataFrame compiles
// no expressions when a query runs.
#include <Math/Vector4D.h>

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RDataSource.hxx>
#include <ROOT/RVec.hxx>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace adl {

// --------------------------------------------------------------------------------------------------------- data source

using Reader = ROOT::Detail::RDF::RColumnReaderBase;

template <typename T>
class NumberReader final : public Reader {
 public:
  explicit NumberReader(T* values) : values_(values) {}

 private:
  void* GetImpl(Long64_t entry) final { return values_ + entry; }

  T* values_;
};

/// Reads lists as RVecs that use the memory of the array.
template <typename T>
class ListReader final : public Reader {
 public:
  ListReader(const std::int64_t* offsets, T* values) : offsets_(offsets), values_(values) {}

 private:
  void* GetImpl(Long64_t entry) final {
    const auto first = offsets_[entry];
    list_ = ROOT::RVec<T>(values_ + first, static_cast<std::size_t>(offsets_[entry + 1] - first));
    return &list_;
  }

  const std::int64_t* offsets_;
  T* values_;
  ROOT::RVec<T> list_;
};

struct Column {
  const std::type_info* type;
  std::function<std::unique_ptr<Reader>()> make_reader;
};

/// Columns of numbers and lists, in arrays that outlive the source. A query reads only the columns that it names, and
/// copies no list.
///
/// With 3 * 10^5 events on one thread, other sources took longer. That of `ak.to_rdataframe` took 1.1 to 1.5 times as
/// long, since it makes the lists of all its columns for each event. An uncompressed RNTuple in memory took 1.8 to 4.1
/// times as long.
class Source final : public ROOT::RDF::RDataSource {
 public:
  explicit Source(ULong64_t events) : events_(events) {}

  void add(const std::string& name, double* values);
  void add(const std::string& name, const std::int64_t* offsets, double* values);
  void add(const std::string& name, const std::int64_t* offsets, std::int32_t* values);

  const std::vector<std::string>& GetColumnNames() const final { return names_; }
  bool HasColumn(std::string_view name) const final { return columns_.count(std::string(name)) > 0; }
  std::string GetTypeName(std::string_view name) const final {
    return ROOT::Internal::RDF::TypeID2TypeName(*columns_.at(std::string(name)).type);
  }
  std::unique_ptr<Reader> GetColumnReaders(unsigned, std::string_view name, const std::type_info& type) final {
    const Column& column = columns_.at(std::string(name));
    if (*column.type != type) {
      throw std::invalid_argument("column '" + std::string(name) + "' is not a " +
                                  ROOT::Internal::RDF::TypeID2TypeName(type) + " but a " + GetTypeName(name));
    }
    return column.make_reader();
  }

  void Initialize() final { is_done_ = false; }
  std::vector<std::pair<ULong64_t, ULong64_t>> GetEntryRanges() final {
    std::vector<std::pair<ULong64_t, ULong64_t>> ranges;
    const ULong64_t count = fNSlots > 1 ? kRanges * fNSlots : 1;
    for (ULong64_t i = 0; i < count && !is_done_; ++i) {
      ranges.emplace_back(events_ * i / count, events_ * (i + 1) / count);
    }
    is_done_ = true;  // the next call returns no ranges, which ends the event loop
    return ranges;
  }
  bool SetEntry(unsigned, ULong64_t) final { return true; }

 private:
  // Ranges for each thread. Threads take them one at a time, so that a thread that is held up delays the others little.
  static constexpr ULong64_t kRanges = 8;

  template <typename T, typename R>
  void add_column(const std::string& name, R reader) {
    names_.push_back(name);
    columns_[name] = {&typeid(T), [reader] { return std::make_unique<R>(reader); }};
  }
  Record_t GetColumnReadersImpl(std::string_view, const std::type_info&) final { return {}; }

  ULong64_t events_;
  bool is_done_ = false;
  std::vector<std::string> names_;
  std::map<std::string, Column> columns_;
};

// Python calls these functions. Inside the class they would be inline, and ROOT's interpreter would compile them and
// the readers again, with less optimization.

void Source::add(const std::string& name, double* values) { add_column<double>(name, NumberReader<double>(values)); }

void Source::add(const std::string& name, const std::int64_t* offsets, double* values) {
  add_column<ROOT::RVec<double>>(name, ListReader<double>(offsets, values));
}

void Source::add(const std::string& name, const std::int64_t* offsets, std::int32_t* values) {
  add_column<ROOT::RVec<std::int32_t>>(name, ListReader<std::int32_t>(offsets, values));
}

using Node = ROOT::RDF::RNode;

/// The number of threads of the dataframe is that of ROOT's implicit multithreading when this function is called.
Node frame_of(std::unique_ptr<Source> source) { return ROOT::RDataFrame(std::move(source)); }

// ---------------------------------------------------------------------------------------------------------- kinematics

using Numbers = ROOT::RVec<double>;
using Charges = ROOT::RVec<std::int32_t>;
using Momentum = ROOT::Math::PxPyPzEVector;
using Momenta = ROOT::RVec<Momentum>;

inline Momentum momentum_of(double pt, double eta, double phi, double mass) {
  return Momentum(ROOT::Math::PxPyPzMVector(pt * std::cos(phi), pt * std::sin(phi), pt * std::sinh(eta), mass));
}

inline Momenta momenta_of(const Numbers& pt, const Numbers& eta, const Numbers& phi, const Numbers& mass) {
  return ROOT::VecOps::Map(pt, eta, phi, mass, momentum_of);
}

// ------------------------------------------------------------------------------------------------------------- queries

using Columns = std::vector<std::vector<double>>;

/// Runs the event loop.
inline Columns values_of(Node node, const std::vector<std::string>& names) {
  std::vector<ROOT::RDF::RResultPtr<std::vector<double>>> booked;
  for (const auto& name : names) booked.push_back(node.Take<double>(name));
  Columns columns;
  for (auto& each : booked) columns.push_back(std::move(*each));
  return columns;
}

Columns met_with_two_jets(Node events) {
  const auto has_two = [](const Numbers& pt) {
    return std::count_if(pt.begin(), pt.end(), [](double x) { return x > 40; }) >= 2;
  };
  return values_of(events.Filter(has_two, {"jet_pt"}), {"met_pt"});
}

inline bool has_pair(const Momenta& p, const Charges& charge) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      if (charge[i] == charge[j]) continue;
      const double mass = (p[i] + p[j]).M();
      if (mass > 60 && mass < 120) return true;
    }
  }
  return false;
}

Columns met_with_a_muon_pair(Node events) {
  return values_of(events.Filter([](const Numbers& pt) { return pt.size() > 1; }, {"muon_pt"})
                       .Define("muon_p", momenta_of, {"muon_pt", "muon_eta", "muon_phi", "muon_mass"})
                       .Filter(has_pair, {"muon_p", "muon_charge"}),
                   {"met_pt"});
}

struct Trijet {
  double pt, btag;
};

inline Trijet nearest_to_top(const Momenta& p, const Numbers& btag) {
  Trijet found{};
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      for (std::size_t k = j + 1; k < p.size(); ++k) {
        const Momentum sum = p[i] + p[j] + p[k];
        const double distance = std::abs(sum.M() - 172.5);
        if (distance >= nearest) continue;
        nearest = distance;
        found = {sum.Pt(), std::max({btag[i], btag[j], btag[k]})};
      }
    }
  }
  return found;
}

Columns trijet_nearest_to_top(Node events) {
  return values_of(events.Filter([](const Numbers& pt) { return pt.size() > 2; }, {"jet_pt"})
                       .Define("jet_p", momenta_of, {"jet_pt", "jet_eta", "jet_phi", "jet_mass"})
                       .Define("trijet", nearest_to_top, {"jet_p", "jet_btag"})
                       .Define("trijet_pt", [](const Trijet& trijet) { return trijet.pt; }, {"trijet"})
                       .Define("trijet_btag", [](const Trijet& trijet) { return trijet.btag; }, {"trijet"}),
                   {"trijet_pt", "trijet_btag"});
}

inline bool is_alone(double jet_eta, double jet_phi, const Numbers& pt, const Numbers& eta, const Numbers& phi) {
  for (std::size_t i = 0; i < pt.size(); ++i) {
    if (pt[i] > 10 && ROOT::VecOps::DeltaR(jet_eta, eta[i], jet_phi, phi[i]) <= 0.4) return false;
  }
  return true;
}

inline double pt_of_alone(const Numbers& pt, const Numbers& eta, const Numbers& phi, const Numbers& muon_pt,
                          const Numbers& muon_eta, const Numbers& muon_phi, const Numbers& electron_pt,
                          const Numbers& electron_eta, const Numbers& electron_phi) {
  double sum = 0;
  for (std::size_t i = 0; i < pt.size(); ++i) {
    if (pt[i] > 30 && is_alone(eta[i], phi[i], muon_pt, muon_eta, muon_phi) &&
        is_alone(eta[i], phi[i], electron_pt, electron_eta, electron_phi)) {
      sum += pt[i];
    }
  }
  return sum;
}

Columns pt_of_jets_without_leptons(Node events) {
  return values_of(events
                       .Define("sum_pt", pt_of_alone,
                               {"jet_pt", "jet_eta", "jet_phi", "muon_pt", "muon_eta", "muon_phi", "electron_pt",
                                "electron_eta", "electron_phi"})
                       .Filter([](double sum) { return sum > 0; }, {"sum_pt"}),
                   {"sum_pt"});
}

struct Lepton {
  Momentum p;
  double pt, phi;
  std::int32_t charge;
  bool is_muon;
};

/// The muons, then the electrons.
inline ROOT::RVec<Lepton> leptons_of(const Numbers& muon_pt, const Numbers& muon_eta, const Numbers& muon_phi,
                                     const Numbers& muon_mass, const Charges& muon_charge, const Numbers& pt,
                                     const Numbers& eta, const Numbers& phi, const Numbers& mass,
                                     const Charges& charge) {
  ROOT::RVec<Lepton> leptons;
  leptons.reserve(muon_pt.size() + pt.size());
  for (std::size_t i = 0; i < muon_pt.size(); ++i) {
    const Momentum p = momentum_of(muon_pt[i], muon_eta[i], muon_phi[i], muon_mass[i]);
    leptons.push_back({p, muon_pt[i], muon_phi[i], muon_charge[i], true});
  }
  for (std::size_t i = 0; i < pt.size(); ++i) {
    leptons.push_back({momentum_of(pt[i], eta[i], phi[i], mass[i]), pt[i], phi[i], charge[i], false});
  }
  return leptons;
}

/// Returns the position of the lepton with the highest pt outside of the pair nearest to Z. Without a pair, returns -1.
inline int position_of_third(const ROOT::RVec<Lepton>& leptons) {
  const int count = static_cast<int>(leptons.size());
  int first = -1, second = -1, third = -1;
  double nearest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      const Lepton &a = leptons[i], &b = leptons[j];
      if (a.is_muon != b.is_muon || a.charge == b.charge) continue;
      const double distance = std::abs((a.p + b.p).M() - 91.2);
      if (distance >= nearest) continue;
      nearest = distance, first = i, second = j;
    }
  }
  if (first < 0) return third;
  for (int i = 0; i < count; ++i) {
    if (i != first && i != second && (third < 0 || leptons[i].pt > leptons[third].pt)) third = i;
  }
  return third;
}

inline double transverse_mass_of(const ROOT::RVec<Lepton>& leptons, int third, double met_pt, double met_phi) {
  const Lepton& lepton = leptons[third];
  return std::sqrt(2 * lepton.pt * met_pt * (1 - std::cos(ROOT::VecOps::DeltaPhi(lepton.phi, met_phi))));
}

Columns transverse_mass_of_third_lepton(Node events) {
  const auto has_three = [](const Numbers& muons, const Numbers& electrons) {
    return muons.size() + electrons.size() > 2;
  };
  return values_of(events.Filter(has_three, {"muon_pt", "electron_pt"})
                       .Define("leptons", leptons_of,
                               {"muon_pt", "muon_eta", "muon_phi", "muon_mass", "muon_charge", "electron_pt",
                                "electron_eta", "electron_phi", "electron_mass", "electron_charge"})
                       .Define("third", position_of_third, {"leptons"})
                       .Filter([](int third) { return third >= 0; }, {"third"})
                       .Define("transverse_mass", transverse_mass_of, {"leptons", "third", "met_pt", "met_phi"}),
                   {"transverse_mass"});
}

}  // namespace adl
