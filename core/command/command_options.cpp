#include "core/command/command_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/command/program.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 4> kFormats{"table", "json", "csv", "md"};

}  // namespace

void refuseName(const std::string& option, const std::string& text, std::span<const std::string_view> allowed) {
  throw InputError(option + " " + quote(text) + " is unknown" + didYouMean(text, allowed) +
                   " (allowed: " + listNames(allowed) + ")");
}

void OutputOptions::addFormatTo(CLI::App& command) {
  command.add_option("--format", formatName, "table, json, csv or md")->capture_default_str()->type_name("FORMAT");
}

void OutputOptions::addTo(CLI::App& command) {
  addFormatTo(command);
  command.add_option("-o,--output", file, "Write to FILE instead of the terminal")->type_name("FILE");
}

Format OutputOptions::format() const {
  for (size_t i = 0; i < kFormats.size(); ++i)
    if (formatName == kFormats[i]) return static_cast<Format>(i);
  refuseName("--format", formatName, kFormats);
}

void OutputOptions::emit(const std::vector<Record>& records, const std::function<std::string(bool markdown)>& text,
                         std::ostream& out) const {
  const Format chosen = format();
  const std::string result = chosen == Format::json  ? jsonText(records)
                             : chosen == Format::csv ? csvText(records)
                                                     : text(chosen == Format::md);
  if (file.empty()) {
    out << result;
  } else {
    writeFile(file, result);
  }
}

void LayerOptions::addTo(CLI::App& command) {
  command
      .add_option("config", config,
                  "A built-in name (see: list configs), a JSON config, a Hugging Face config.json or its folder")
      ->required()
      ->type_name("CONFIG");
  command.add_option("--tokens", tokens, "Tokens in the step (default: the config's; models 16384)")->type_name("N");
  command.add_option("--batch", batch, "Sequences in the step; with --seq, instead of --tokens")->type_name("N");
  command.add_option("--seq", seq, "Tokens of a sequence")->type_name("N");
  command.add_option("--activation", activation, "relu, silu, gelu, swiglu or geglu (default: the config's; swiglu)")
      ->type_name("NAME");
  command.add_option("--routing", routing, "balanced, zipf:ALPHA, FILE.npy[:LAYER] or shares:FILE.npy[:LAYER]")
      ->capture_default_str()
      ->type_name("ROUTING");
}

ConfigSource LayerOptions::load() const {
  ConfigSource source = loadConfig(config);
  if (!tokens.empty() && !(batch.empty() && seq.empty()))
    throw InputError("--tokens contradicts --batch and --seq; give one or the other");
  if (batch.empty() != seq.empty())
    throw InputError(fmt::format("{} needs {} as well; tokens are their product", batch.empty() ? "--seq" : "--batch",
                                 batch.empty() ? "--batch" : "--seq"));
  MoeConfig& layer = source.layer;
  if (!tokens.empty()) layer.tokens = parseCount("--tokens", tokens, 1, kMaxRows);
  if (!batch.empty()) layer.tokens = parseCount("--batch", batch, 1, kMaxRows) * parseCount("--seq", seq, 1, kMaxRows);
  if (!activation.empty()) layer.activation = parseActivation(activation, "--activation");
  validate(layer, config);
  return source;
}

void addSystems(CLI::App& command, std::string& systems) {
  command.add_option("--systems", systems, "Systems separated by commas; all is every one but custom")
      ->capture_default_str()
      ->type_name("LIST");
}

void addRepeat(CLI::App& command, std::string& repeat) {
  command.add_option("--repeat", repeat, "Runs of each; times are medians")->capture_default_str()->type_name("N");
}

std::string describeLayer(const ConfigSource& source) {
  const MoeConfig& c = source.layer;
  const auto count = [](int64_t n) { return cellText(Record{{"n", n}}, {"n", "", Unit::count}); };
  std::string text = fmt::format("{}: d_model {}, d_ff {}, {} experts, top_k {}, {} tokens, {}, {}", c.name, c.dModel,
                                 c.dFf, c.experts, c.topK, count(c.tokens), name(c.activation), name(c.dtype));
  if (c.sharedExperts > 0) text += fmt::format(", {} shared of d_ff {}", c.sharedExperts, c.sharedDFf);
  if (source.layers > 1)
    text += fmt::format("; one layer ({} of the model's {} layers are MoE)", source.moeLayers, source.layers);
  return text;
}

std::vector<System> parseSystems(const std::string& list) {
  std::vector<System> parsed;
  const auto add = [&](const System& system) {
    const bool known =
        std::any_of(parsed.begin(), parsed.end(), [&](const System& s) { return s.text() == system.text(); });
    if (!known) parsed.push_back(system);
  };
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word(CLI::detail::trim_copy(list.substr(begin, end - begin)));
    if (word == "all") {
      for (const SystemInfo& info : systems())
        if (info.name != "custom") add(System::parse(info.name));
    } else {
      add(System::parse(word));
    }
    begin = end + 1;
  }
  return parsed;
}

}  // namespace moeblaze
