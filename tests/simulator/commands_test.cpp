#include "simulator/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/config/config.h"
#include "core/systems/system.h"
#include "tests/support/run.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

Ran sim(const std::vector<std::string>& arguments) { return run(runSimulator, "moeblaze-sim", arguments); }

nlohmann::json records(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Ran ran = sim(arguments);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return ran.status == 0 ? ran.json() : nlohmann::json::array();
}

const nlohmann::json& rowOf(const nlohmann::json& rows, const std::string& system) {
  for (const auto& row : rows)
    if (row["system"] == system) return row;
  ADD_FAILURE() << "no row of " << system;
  return rows.at(0);
}

TEST(Simulate, JsonHoldsTheDesignsKeys) {
  const auto rows = records({"simulate", "conf3", "--system", "moeblaze"});
  ASSERT_EQ(rows.size(), 1u);
  for (const char* key :
       {"saved_bytes", "intermediates_bytes", "peak_bytes", "workspace_bytes", "index_bytes", "traffic_bytes"})
    EXPECT_TRUE(rows[0].at(key).is_number_integer()) << key;
  for (const char* key : {"forward_ms", "backward_ms", "forward_tflops"})
    EXPECT_GT(rows[0].at(key).get<double>(), 0) << key;
  for (const auto& [key, value] : rows[0].items()) EXPECT_TRUE(value.is_primitive()) << key << ": flat objects only";
  EXPECT_EQ(rows[0]["config"], "conf3");
  EXPECT_EQ(rows[0]["fits"], true);
  EXPECT_EQ(rows[0]["saved_bytes"], 2 * 65536 * 1024 + 4ll * 262144 * 4096 + 4 * (3 * 262144 + 17) + 4 * 262144);
}

TEST(Simulate, TableNamesThePeaksBuffers) {
  const Ran ran = sim({"simulate", "conf3"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (const char* part : {"moeblaze · conf3", "Memory over the step", "Peak 6,660.0 MiB in forward Step down",
                           "expert_token_indices", "fused_down_backward", "forward", "backward"})
    EXPECT_THAT(ran.out, HasSubstr(part));
}

TEST(Simulate, OverridesChangeTheLayer) {
  EXPECT_EQ(records({"simulate", "conf3", "--batch", "8", "--seq", "128"})[0]["tokens"], 1024);
  EXPECT_EQ(records({"simulate", "conf3", "--tokens", "77"})[0]["tokens"], 77);
  EXPECT_EQ(records({"simulate", "mixtral-8x7b"})[0]["tokens"], 16384);
  const auto silu = records({"simulate", "conf3", "--activation", "silu"})[0];
  EXPECT_EQ(silu["activation"], "silu");
  EXPECT_EQ(silu["intermediates_bytes"], 2ll * 262144 * 4096);
  EXPECT_GT(records({"simulate", "conf3", "--gpu", "a100"})[0]["forward_ms"],
            records({"simulate", "conf3"})[0]["forward_ms"]);
}

TEST(Simulate, SkewedRoutingKeepsBytesAndCostsTime) {
  const auto even = records({"simulate", "conf3", "--tokens", "16384"})[0];
  const std::string file = MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy";
  const auto skewed = records({"simulate", "conf3", "--tokens", "16384", "--routing", "shares:" + file + ":3"})[0];
  EXPECT_EQ(skewed["saved_bytes"], even["saved_bytes"]);
  EXPECT_GT(skewed["forward_ms"], even["forward_ms"]);
  EXPECT_THAT(skewed["routing"].get<std::string>(), testing::StartsWith("shares:"));
}

TEST(Simulate, EveryNamedConfigUnderEverySystem) {
  for (const ConfigSource& source : namedConfigs()) {
    const auto rows = records({"compare", source.layer.name});
    EXPECT_EQ(rows.size(), systems().size() - 1) << source.layer.name << ": custom only when asked";
    for (const auto& row : rows) EXPECT_GE(row["peak_bytes"], row["intermediates_bytes"]) << row["system"];
  }
}

TEST(Compare, RatiosAndBestAreRight) {
  const auto rows = records({"compare", "conf3", "--systems", "moeblaze,megablocks,momoe", "--baseline", "torch"});
  ASSERT_EQ(rows.size(), 3u);
  const auto torch = records({"simulate", "conf3", "--system", "torch"})[0];
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(row["peak_ratio"].get<double>(),
                     row["peak_bytes"].get<double>() / torch["peak_bytes"].get<double>());
    EXPECT_EQ(row["baseline"], "torch");
  }
  EXPECT_EQ(rowOf(rows, "momoe:save=0")["best_saved"], true);
  EXPECT_EQ(rowOf(rows, "moeblaze")["best_saved"], false);
  EXPECT_EQ(rowOf(rows, "moeblaze")["best_peak"], true);
  EXPECT_EQ(rowOf(rows, "moeblaze")["best_step"], true);
}

TEST(Compare, ListsEachSystemOnce) {
  EXPECT_EQ(records({"compare", "conf5"}).size(), systems().size() - 1);
  EXPECT_EQ(records({"compare", "conf5", "--systems", "torch,torch,all"}).size(), systems().size() - 1);
  EXPECT_EQ(records({"compare", "conf5", "--systems", "momoe, momoe:save=100"}).size(), 2u);
}

TEST(Compare, TableMarksTheBest) {
  const Ran ran = sim({"compare", "conf3", "--systems", "moeblaze,megablocks"});
  ASSERT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("4,228.0 MiB*"));
  EXPECT_THAT(ran.out, HasSubstr("9,218.5 MiB "));
  EXPECT_THAT(ran.out, HasSubstr("ratio = this / megablocks"));
}

TEST(Paper, PrintedFiguresAreReached) {
  const auto rows = records({"paper"});
  EXPECT_EQ(rows.size(), 7u * 2 * 9);
  int printed = 0;
  for (const auto& row : rows) {
    if (!row["paper_printed"].is_null()) ++printed;
    EXPECT_FALSE(row["difference"].get<std::string>().empty());
    if (row["system"] != "moeblaze-paper:preactivation=fp32") continue;
    if (row["config"] == "conf4" && row["activation"] == "silu") {
      EXPECT_EQ(row["intermediates_bytes"], 6442450944);
      EXPECT_EQ(row["paper_mb"], 6100);
    }
    if (row["config"] == "conf3" && row["activation"] == "swiglu") {
      EXPECT_EQ(row["intermediates_bytes"], 10737418240);
      EXPECT_EQ(row["paper_mb"], 10000);
    }
  }
  EXPECT_EQ(printed, 4);
}

TEST(Paper, MeasuredPeersStandBeside) {
  int measured = 0;
  for (const auto& row : records({"paper"})) {
    if (row["measured_saved_bytes"].is_null()) continue;
    ++measured;
    EXPECT_NEAR(row["saved_difference_percent"].get<double>(), 0, 1.2) << row["config"] << row["system"];
    EXPECT_NEAR(row["peak_difference_percent"].get<double>(), 0, 0.1);
  }
  EXPECT_EQ(measured, 42);
}

TEST(List, EverythingBuiltIn) {
  const auto namesOf = [](const char* what) {
    std::set<std::string> names;
    for (const auto& row : records({"list", what})) names.insert(row["name"]);
    return names;
  };
  EXPECT_EQ(namesOf("configs").size(), 20u);
  EXPECT_EQ(namesOf("gpus"), (std::set<std::string>{"a100", "h100", "h200", "b200"}));
  const auto listed = namesOf("systems");
  for (const char* name :
       {"moeblaze", "moeblaze-paper", "moeblaze-min", "megablocks", "megablocks-memopt", "megablocks-sparse",
        "scattermoe", "momoe", "sonicmoe", "megatron", "megatron-moe-act", "torch", "gshard", "custom"})
    EXPECT_EQ(listed.count(name), 1u) << name;
  EXPECT_EQ(listed.size(), systems().size());
}

TEST(Output, EveryFormatOfEveryCommand) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"simulate", "conf5"},
                                                                                       {"compare", "conf5"},
                                                                                       {"paper"},
                                                                                       {"list", "configs"},
                                                                                       {"list", "systems"},
                                                                                       {"list", "gpus"}})
    for (const char* format : {"table", "json", "csv", "md"}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--format", format});
      const Ran ran = sim(arguments);
      EXPECT_EQ(ran.status, 0) << ran.err;
      EXPECT_EQ(ran.err, "");
      EXPECT_GT(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << command[0] << " " << format;
      EXPECT_EQ(std::string(format) == "md", ran.out.find("| -") != std::string::npos) << command[0] << " " << format;
    }
}

TEST(Output, FileInsteadOfTerminal) {
  const TempFolder folder;
  const std::string file = (folder.path() / "out.json").string();
  const Ran ran = sim({"simulate", "conf5", "--format", "json", "-o", file});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(file)).size(), 1u);
}

TEST(Program, OutputThatCannotBeWrittenIsAnError) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  const char* argv[] = {"moeblaze-sim", "list", "gpus"};
  EXPECT_EQ(runSimulator(3, argv, full, err), 2);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

TEST(Program, HelpAndVersionSucceed) {
  EXPECT_THAT(sim({"--help"}).out, HasSubstr("compare"));
  EXPECT_EQ(sim({"--help"}).status, 0);
  EXPECT_THAT(sim({"compare", "--help"}).out, HasSubstr("--baseline"));
  EXPECT_THAT(sim({"--version"}).out, HasSubstr("CUDA toolkit"));
}

struct WrongInput {
  std::vector<std::string> arguments;
  std::string says;
};

TEST(Program, WrongInputIsOneLineAndStatus2) {
  const TempFolder folder;
  const std::string truncated = folder.write("cut.json", "{\"d_model\": 10");
  const std::string overflow =
      folder.write("big.json", R"({"d_model": 9223372036854775808, "d_ff": 1, "experts": 1, "top_k": 1, "tokens": 1})");
  const std::string choosy =
      folder.write("choosy.json", R"({"d_model": 8, "d_ff": 8, "experts": 4, "top_k": 5, "tokens": 8})");
  const std::string routing = MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy";
  const std::vector<WrongInput> cases{
      {{}, "subcommand"},
      {{"compar", "conf3"}, "did you mean 'compare'?"},
      {{"compare"}, "config is required"},
      {{"compare", "conf33"}, "did you mean 'conf3'?"},
      {{"compare", "conf3", "--tokns", "4"}, "did you mean '--tokens'?"},
      {{"compare", "conf3", "conf4"}, "'conf4' is unknown"},
      {{"compare", "conf3", "--systems", "moblaze"}, "did you mean 'moeblaze'?"},
      {{"compare", "conf3", "--systems", ""}, "system '' is unknown"},
      {{"compare", "conf3", "--baseline", "x"}, "system 'x' is unknown"},
      {{"simulate", "conf3", "--system", "moeblaze-min:chunk=17"}, "chunk 17 exceeds the config's 16 experts"},
      {{"simulate", "conf3", "--tokens", "0"}, "--tokens '0' is not a whole number from 1"},
      {{"simulate", "conf3", "--tokens", "-5"}, "'-5'"},
      {{"simulate", "conf3", "--tokens", "1e3"}, "'1e3'"},
      {{"simulate", "conf3", "--tokens", "99999999999999999999"}, "'99999999999999999999'"},
      {{"simulate", "conf3", "--tokens", "2147483647"}, "tokens 2147483647 with top_k 4"},
      {{"simulate", "conf3", "--batch", "2147483647", "--seq", "2147483647"}, "tokens 4611686014132420609"},
      {{"simulate", "conf3", "--tokens", "5", "--batch", "5", "--seq", "1"}, "contradicts"},
      {{"simulate", "conf3", "--batch", "5"}, "--batch needs --seq"},
      {{"simulate", "conf3", "--seq", "5"}, "--seq needs --batch"},
      {{"simulate", "conf3", "--activation", "swigl"}, "did you mean 'swiglu'?"},
      {{"simulate", "conf3", "--gpu", "h20"}, "did you mean 'h200'?"},
      {{"simulate", "conf3", "--format", "jsn"}, "did you mean 'json'?"},
      {{"simulate", "conf3", "--routing", "zipff:1"}, "zipf:"},
      {{"simulate", "conf3", "--routing", "zipf:-1"}, "out of range"},
      {{"simulate", "conf3", "--routing", routing}, "layer is missing"},
      {{"simulate", "conf3", "--routing", routing + ":0"}, "--tokens 16384"},
      {{"simulate", "conf3", "--routing", routing + ":6", "--tokens", "16384"}, "allowed 0 to 5"},
      {{"simulate", "conf1", "--routing", "shares:" + truncated}, "is not a NumPy .npy file"},
      {{"simulate", truncated}, "cut.json"},
      {{"simulate", overflow}, "d_model"},
      {{"simulate", choosy}, "top_k 5 exceeds experts 4"},
      {{"simulate", "missing.json"}, "no such file"},
      {{"simulate", "conf3", "-o", "/nonexistent/folder/file"}, "cannot be written"},
      {{"list", "gpu"}, "did you mean 'gpus'?"},
  };
  for (const WrongInput& wrong : cases) {
    const Ran ran = sim(wrong.arguments);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(wrong.arguments);
    EXPECT_THAT(ran.err, HasSubstr(wrong.says));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace moeblaze
