#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/systems/system.h"
#include "simulator/commands/commands.h"
#include "simulator/commands/options.h"

namespace moeblaze {
namespace {

/// What the command prints of one kind of thing.
struct Listing {
  std::vector<Record> rows;
  std::vector<Column> columns;
  std::string notes{};  ///< printed below the table
};

Listing listConfigs() {
  Listing listing{{},
                  {{"name", "name"},
                   {"d_model", "d_model", Unit::count},
                   {"d_ff", "d_ff", Unit::count},
                   {"experts", "experts", Unit::count},
                   {"top_k", "top_k", Unit::count},
                   {"shared_experts", "shared", Unit::count},
                   {"shared_d_ff", "shared d_ff", Unit::count},
                   {"tokens", "tokens", Unit::count},
                   {"activation", "activation"},
                   {"router", "router"},
                   {"moe_layers", "MoE layers", Unit::count},
                   {"layers", "layers", Unit::count}}};
  for (const ConfigSource& source : namedConfigs()) {
    const MoeConfig& c = source.layer;
    listing.rows.push_back({{"name", c.name},
                            {"d_model", c.dModel},
                            {"d_ff", c.dFf},
                            {"experts", c.experts},
                            {"top_k", c.topK},
                            {"shared_experts", c.sharedExperts},
                            {"shared_d_ff", c.sharedDFf},
                            {"tokens", c.tokens},
                            {"activation", name(c.activation)},
                            {"router", name(c.router)},
                            {"moe_layers", source.moeLayers},
                            {"layers", source.layers}});
  }
  return listing;
}

Listing listSystems() {
  Listing listing{{},
                  {{"name", "name"},
                   {"dispatch", "dispatch"},
                   {"saves", "saves"},
                   {"parameters", "parameters"},
                   {"source", "source"}}};
  for (const SystemInfo& info : systems()) {
    std::string parameters;
    for (const SystemParameter& p : info.parameters) {
      const std::string values =
          fmt::format("{}{}", p.number != SystemParameter::Number::none ? "N|" : "", fmt::join(p.words, "|"));
      parameters += (parameters.empty() ? "" : ", ") + std::string(p.name);
      listing.notes += fmt::format("{}:{}={}  {} (default {})\n", info.name, p.name, values, p.help, p.fallback);
    }
    listing.rows.push_back({{"name", info.name},
                            {"dispatch", info.dispatch},
                            {"saves", info.save},
                            {"parameters", parameters},
                            {"source", info.source}});
  }
  return listing;
}

Listing listGpus() {
  Listing listing{{},
                  {{"name", "name"},
                   {"memory_bytes", "memory", Unit::bytes},
                   {"bandwidth_tb_per_s", "TB/s", Unit::number},
                   {"bf16_tflops", "bf16 TFLOP/s", Unit::number},
                   {"launch_ns", "launch ns", Unit::count}}};
  for (const Machine& machine : namedMachines())
    listing.rows.push_back({{"name", machine.name},
                            {"memory_bytes", machine.memoryBytes},
                            {"bandwidth_tb_per_s", machine.bandwidthBytesPerS / 1e12},
                            {"bf16_tflops", machine.flopsOf(DType::bf16) / 1e12},
                            {"launch_ns", machine.launchNs}});
  return listing;
}

constexpr std::array<std::string_view, 3> kThings{"configs", "systems", "gpus"};

struct Options {
  void addTo(CLI::App& command) {
    command.add_option("what", what, "configs, systems or gpus")->required()->type_name("WHAT");
    output.addTo(command);
  }

  std::string what;
  OutputOptions output;
};

void run(const Options& options, std::ostream& out) {
  constexpr std::array kListings{listConfigs, listSystems, listGpus};
  const auto found = std::find(kThings.begin(), kThings.end(), options.what);
  if (found == kThings.end())
    throw InputError("list " + quote(options.what) + " is unknown" + didYouMean(options.what, kThings) +
                     " (allowed: " + listNames(kThings) + ")");
  const Listing listing = kListings[found - kThings.begin()]();
  options.output.emit(
      listing.rows,
      [&](bool markdown) {
        return textTable(listing.rows, listing.columns, markdown) + (listing.notes.empty() ? "" : "\n" + listing.notes);
      },
      out);
}

}  // namespace

CommandBody addList(CLI::App& app) {
  return addCommand(app, "list", "What is built in: configs, systems or gpus", run);
}

}  // namespace moeblaze
