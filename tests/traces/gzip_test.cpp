#include "traces/formats/gzip.h"

#include "tests/support/gzip_data.h"
#include "tests/support/input_error.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

std::string unpack(std::string_view bytes, GunzipLimits limits = {}) {
  std::string storage;
  return std::string(gunzip(bytes, storage, "f.gz", limits));
}

TEST(Gzip, PlainBytesPassUnchanged) {
  EXPECT_EQ(unpack("{\"a\": 1}"), "{\"a\": 1}");
  EXPECT_EQ(unpack(""), "");
}

TEST(Gzip, UnpacksWhatWasPacked) {
  std::string text;
  for (int64_t i = 0; i < 200000; ++i) text += std::to_string(i * 7919);
  EXPECT_TRUE(unpack(gzipped(text)) == text);  // EXPECT_EQ would print megabytes
  EXPECT_EQ(unpack(gzipped("")), "");
}

TEST(Gzip, MembersFollowOneAnotherAndZerosPad) {
  EXPECT_EQ(unpack(gzipped("one ") + gzipped("two") + std::string(512, '\0')), "one two");
  EXPECT_THAT(inputError([] { unpack(gzipped("one") + "garbage"); }), HasSubstr("damaged"));
}

TEST(Gzip, EveryTruncationIsRefused) {
  const std::string packed = gzipped("some text that is packed, some text that is packed again");
  for (size_t size = 2; size < packed.size(); ++size)
    EXPECT_THAT(inputError([&] { unpack(packed.substr(0, size)); }), HasSubstr("f.gz: the gzip data end early"))
        << size;
}

TEST(Gzip, AFlippedBitIsNoticedOrHarmless) {
  const std::string text = "some text that is packed, some text that is packed again";
  const std::string packed = gzipped(text);
  size_t noticed = 0;
  for (size_t byte = 10; byte < packed.size(); ++byte)  // behind the header, whose time and system are not checked
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      try {
        EXPECT_EQ(unpack(damaged), text) << byte << " " << bit;
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("f.gz: the gzip data "));
        ++noticed;
      }
    }
  EXPECT_GE(noticed, 8 * (packed.size() - 11));  // bits that pad the last data byte are harmless
}

TEST(Gzip, BombsAreRefused) {
  const std::string bomb = gzipped(std::string(size_t{24} << 20, 'x'));
  EXPECT_THAT(inputError([&] { unpack(bomb); }), HasSubstr("unpacks to more than 250 times its"));
  EXPECT_THAT(inputError([&] { unpack(bomb, {.bytes = 1000}); }), HasSubstr("unpacks to more than 1000 bytes"));
}

}  // namespace
}  // namespace moeblaze
