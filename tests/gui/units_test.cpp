#include "gui/units/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "gui/timeline/frame/byte_scale.h"
#include "gui/whatif/log_scale.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;

TEST(Units, BinaryAndDecimalAreNeverTakenForOneAnother) {
  constexpr int64_t kGib = int64_t{1} << 30;
  EXPECT_EQ(bytesText(kGib, ByteUnit::binary), "1.000 GiB");
  EXPECT_EQ(bytesText(kGib, ByteUnit::decimal), "1.074 GB");
  EXPECT_EQ(bytesText(kGib, ByteUnit::exact), "1,073,741,824 B");
  EXPECT_EQ(bytesText(1'000'000'000, ByteUnit::decimal), "1.000 GB");
  EXPECT_EQ(bytesText(1'000'000'000, ByteUnit::binary), "953.7 MiB");
  EXPECT_EQ(bytesText(1000, ByteUnit::decimal), "1.000 kB");
}

TEST(Units, FourDigitsAndNoMore) {
  EXPECT_EQ(bytesText(0, ByteUnit::binary), "0 B");
  EXPECT_EQ(bytesText(1023, ByteUnit::binary), "1023 B");
  EXPECT_EQ(bytesText(1536, ByteUnit::binary), "1.500 KiB");
  EXPECT_EQ(bytesText(10'000'000'000, ByteUnit::binary), "9.313 GiB");
  EXPECT_EQ(bytesText((int64_t{1} << 30) - 1, ByteUnit::binary), "1.000 GiB") << "not 1024 MiB";
  EXPECT_EQ(bytesText(-1536, ByteUnit::binary), "-1.500 KiB");
  EXPECT_EQ(bytesText(int64_t{1} << 62, ByteUnit::binary), "4.000 EiB");
  EXPECT_EQ(bytesText(100 << 20, ByteUnit::binary), "100.0 MiB");
}

TEST(Units, DifferencesHaveTheirSign) {
  EXPECT_EQ(deltaText(2048, ByteUnit::binary), "+2.000 KiB");
  EXPECT_EQ(deltaText(-2048, ByteUnit::binary), "-2.000 KiB");
  EXPECT_EQ(countText(-1234567), "-1,234,567");
}

TEST(Units, TellsWhenItChanges) {
  QSignalSpy changes(&UnitFormat::shared(), &UnitFormat::changed);
  UnitFormat::shared().setUnit(ByteUnit::exact);
  UnitFormat::shared().setUnit(ByteUnit::exact);
  EXPECT_EQ(UnitFormat::shared().text(2048), "2,048 B");
  UnitFormat::shared().setUnit(ByteUnit::binary);
  EXPECT_EQ(changes.count(), 2);
}

TEST(Units, AxesAreRoundInTheUnitTheyAreWrittenIn) {
  const auto labels = [](ByteUnit unit, double topBytes) {
    UnitFormat::shared().setUnit(unit);
    std::vector<std::string> texts;
    for (const Tick& tick : ByteScale(topBytes, 200).ticks(60)) texts.push_back(tick.label);
    UnitFormat::shared().setUnit(ByteUnit::binary);
    return texts;
  };
  EXPECT_THAT(labels(ByteUnit::decimal, 3.2e9), ElementsAre("0 GB", "1 GB", "2 GB", "3 GB"));
  EXPECT_THAT(labels(ByteUnit::decimal, 1.3e6), ElementsAre("0 MB", "0.5 MB", "1.0 MB"));
  EXPECT_THAT(labels(ByteUnit::exact, 3.2e6), ElementsAre("0 B", "1,000,000 B", "2,000,000 B", "3,000,000 B"));
  EXPECT_THAT(labels(ByteUnit::binary, 3.2 * 1024 * 1024), ElementsAre("0 MiB", "1 MiB", "2 MiB", "3 MiB"));
}

TEST(LogScale, MeetsDoublingsAndItsEnds) {
  EXPECT_EQ(kTokenScale.valueAt(0), 64);
  EXPECT_EQ(kTokenScale.valueAt(16), 128);
  EXPECT_EQ(kTokenScale.valueAt(kTokenScale.steps), 1 << 20);
  for (int step = 0; step <= kTokenScale.steps; ++step) EXPECT_EQ(kTokenScale.stepOf(kTokenScale.valueAt(step)), step);
  EXPECT_EQ(kTokenScale.stepOf(1), 0);
  EXPECT_EQ(kTokenScale.stepOf(int64_t{1} << 40), kTokenScale.steps);
}

}  // namespace
}  // namespace moeblaze::gui
