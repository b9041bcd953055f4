// The index structures, entry by entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/systems/system.h"
#include "kernels/host/index_structures.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;

/// What the Plan's dispatch Steps write, by buffer name.
std::map<std::string, std::vector<int64_t>> dispatch(const MoeConfig& config, std::vector<int32_t> ids,
                                                     const std::string& system) {
  const Routing routing = Routing::fromTable(config, ids, "table");
  const LayerInputs inputs = makeInputs(config, routing, 1);
  return host::buildIndexStructures(buildPlan(config, routing, System::parse(system)), inputs);
}

// The paper's example (arXiv 2601.05296, §3.1): its five tokens, with the pair that its token_expert_indices leaves
// out.
TEST(Index, PapersExample) {
  const MoeConfig config{.name = "example", .dModel = 2, .dFf = 2, .experts = 4, .topK = 2, .tokens = 5};
  const auto index = dispatch(config, {2, 3, 0, 1, 0, 3, 1, 2, 0, 3}, "moeblaze");
  EXPECT_THAT(index.at("expert_token_indices"), ElementsAre(1, 2, 4, 1, 3, 0, 3, 0, 2, 4));
  EXPECT_THAT(index.at("expert_token_offsets"), ElementsAre(0, 3, 5, 7, 10));
  EXPECT_THAT(index.at("token_expert_indices"), ElementsAre(2, 3, 0, 1, 0, 3, 1, 2, 0, 3));
  EXPECT_THAT(index.at("token_index_map"), ElementsAre(5, 7, 0, 3, 1, 8, 4, 6, 2, 9));
}

TEST(Index, EmptyExpertsHaveEmptyRanges) {
  const MoeConfig config{.name = "empty", .dModel = 2, .dFf = 2, .experts = 4, .topK = 1, .tokens = 3};
  const auto index = dispatch(config, {2, 2, 2}, "moeblaze");
  EXPECT_THAT(index.at("expert_token_offsets"), ElementsAre(0, 0, 0, 3, 3));
  EXPECT_THAT(index.at("expert_token_indices"), ElementsAre(0, 1, 2));
}

TEST(Index, FrameworksKeepTheSameOrder) {
  const MoeConfig config{.name = "example", .dModel = 2, .dFf = 2, .experts = 4, .topK = 2, .tokens = 5};
  const std::vector<int32_t> ids{2, 3, 0, 1, 0, 3, 1, 2, 0, 3};
  EXPECT_THAT(dispatch(config, ids, "megablocks").at("indices"), ElementsAre(2, 4, 8, 3, 6, 0, 7, 1, 5, 9));
  EXPECT_THAT(dispatch(config, ids, "megablocks").at("bin_ids"), ElementsAre(0, 0, 0, 1, 1, 2, 2, 3, 3, 3));
  EXPECT_THAT(dispatch(config, ids, "megablocks").at("bins"), ElementsAre(3, 5, 7, 10));
  EXPECT_THAT(dispatch(config, ids, "torch").at("token"), ElementsAre(1, 2, 4, 1, 3, 0, 3, 0, 2, 4));
  EXPECT_THAT(dispatch(config, ids, "momoe").at("slot_choice"), ElementsAre(0, 0, 0, 1, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(dispatch(config, ids, "sonicmoe").at("token_offsets"), ElementsAre(0, 2, 4, 6, 8));
}

TEST(Index, CapacityDropsTheLastTokensAndPadsWithNone) {
  const MoeConfig config{.name = "cap", .dModel = 2, .dFf = 2, .experts = 2, .topK = 1, .tokens = 4};
  const auto index = dispatch(config, {0, 0, 0, 1}, "gshard:capacity=1");
  EXPECT_THAT(index.at("slot_of_row"), ElementsAre(0, 1, 3, -1));
  EXPECT_THAT(index.at("row_of_slot"), ElementsAre(0, 1, -1, 2));
}

}  // namespace
}  // namespace moeblaze
