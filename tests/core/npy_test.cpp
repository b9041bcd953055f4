#include "core/base/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/input_error.h"
#include "tests/support/npy_file.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

NpyArray readBytes(std::string_view bytes) { return readNpy(TempFolder().write("ids.npy", bytes)); }

std::string errorOf(std::string_view bytes) {
  return inputError([&] { readBytes(bytes); });
}

TEST(Npy, ReadsEveryIntegerType) {
  struct Case {
    const char* descr;
    size_t bytes;
    int64_t low, high;
  };
  for (const Case& type :
       {Case{"|u1", 1, 0, 255}, Case{"|i1", 1, -128, 127}, Case{"<u2", 2, 0, 65535}, Case{"<i2", 2, -32768, 32767},
        Case{"<u4", 4, 0, 4294967295}, Case{"<i4", 4, -2147483648, 2147483647},
        Case{"<u8", 8, 0, std::numeric_limits<int64_t>::max()},
        Case{"<i8", 8, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}}) {
    const NpyArray array = readBytes(npyHeader(npyDict(type.descr, "(2, 2)")) +
                                     littleEndianBytes({type.low, 1, 2, type.high}, type.bytes));
    EXPECT_THAT(array.shape, ElementsAre(2, 2)) << type.descr;
    EXPECT_THAT(array.values, ElementsAre(type.low, 1, 2, type.high)) << type.descr;
  }
}

TEST(Npy, ReadsEveryFormatVersion) {
  for (int major : {1, 2, 3}) {
    const NpyArray array = readBytes(npyHeader(npyDict("<i2", "(3,)"), major) + littleEndianBytes({7, 8, -9}, 2));
    EXPECT_THAT(array.values, ElementsAre(7, 8, -9)) << major;
  }
}

TEST(Npy, ReadsShapesOfAnyRank) {
  EXPECT_THAT(readBytes(npyFile("(1, 1, 1, 1, 1, 1, 1, 2)", {4, 5})).shape, ElementsAre(1, 1, 1, 1, 1, 1, 1, 2));
  EXPECT_THAT(readBytes(npyFile("(3, 0)", {})).values, testing::IsEmpty());
  const std::vector<int64_t> many(200'000, 3);
  EXPECT_EQ(readBytes(npyFile("(200000,)", many)).values, many);
}

TEST(Npy, ReadsKeysInAnyOrder) {
  const std::string header = npyHeader(R"({"shape":(2,),"fortran_order":False,"descr":"|u1"})");
  EXPECT_THAT(readBytes(header + "\x01\x02").values, ElementsAre(1, 2));
}

TEST(Npy, ReadsTheSampleRouting) {
  const NpyArray array = readNpy(MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy");
  EXPECT_THAT(array.shape, ElementsAre(6, 16384, 2));
  EXPECT_EQ(array.values.size(), 6u * 16384 * 2);
  EXPECT_THAT(array.values, testing::Each(AllOf(testing::Ge(0), testing::Lt(16))));
}

TEST(Npy, RefusesEveryTruncation) {
  for (int major : {1, 2}) {
    const std::string file = npyHeader(npyDict("<i4", "(2, 3)"), major) + littleEndianBytes({1, 2, 3, 4, 5, 6}, 4);
    for (size_t length = 0; length < file.size(); ++length) {
      EXPECT_THAT(errorOf(std::string_view(file).substr(0, length)), HasSubstr("ids.npy: ")) << length;
    }
  }
  EXPECT_THAT(errorOf(npyFile("(3,)", {1, 2})), EndsWith("ids.npy: is truncated: 8 bytes are missing"));
}

TEST(Npy, RefusesTrailingBytes) {
  EXPECT_THAT(errorOf(npyFile("(1,)", {1, 2})), EndsWith("ids.npy: has 8 bytes after its array"));
}

TEST(Npy, RefusesOtherTypesAndOrders) {
  for (const char* descr : {"|b1", "<f4", ">i4", "<i16", "<U3", "|O", "", "<i3"}) {
    EXPECT_THAT(errorOf(npyHeader(npyDict(descr, "(1,)")) + std::string(16, '\0')),
                EndsWith("ids.npy: dtype '" + std::string(descr) +
                         "' is not a little-endian integer; allowed: |u1, |i1, <u2, <i2, <u4, <i4, <u8, <i8"));
  }
  EXPECT_THAT(errorOf(npyHeader(npyDict("|u1", "(1,)", "True")) + "x"),
              EndsWith("ids.npy: fortran_order is True; allowed: False"));
}

TEST(Npy, RefusesValuesBeyondInt64) {
  EXPECT_THAT(errorOf(npyHeader(npyDict("<u8", "(1,)")) + std::string(8, '\xff')),
              EndsWith("ids.npy: holds 18446744073709551615; allowed: up to 9223372036854775807"));
}

TEST(Npy, RefusesShapesOutOfBounds) {
  EXPECT_THAT(errorOf(npyFile("()", {1})), EndsWith("has 0 dimensions; allowed 1 to 8"));
  EXPECT_THAT(errorOf(npyFile("(1, 1, 1, 1, 1, 1, 1, 1, 1)", {1})), EndsWith("has 9 dimensions; allowed 1 to 8"));
  EXPECT_THAT(errorOf(npyFile("(65536, 65536)", {1})),
              EndsWith("shape 65536 x 65536 has too many elements; allowed: up to 2147483648"));
  EXPECT_THAT(errorOf(npyFile("(2147483649,)", {1})), EndsWith("shape holds 2147483649; allowed 0 to 2147483648"));
  EXPECT_THAT(errorOf(npyFile("(99999999999999999999,)", {1})), HasSubstr("shape holds 99999999999999999999"));
  EXPECT_THAT(errorOf(npyFile("(-1,)", {1})), HasSubstr("shape holds -1; allowed 0"));
  EXPECT_THAT(errorOf(npyFile("(2147483648,)", {1})), HasSubstr("is truncated")) << "must not allocate first";
}

TEST(Npy, RefusesOtherFiles) {
  EXPECT_THAT(errorOf(""), EndsWith("ids.npy: is not a NumPy .npy file"));
  EXPECT_THAT(errorOf("PK\x03\x04 a zip file"), EndsWith("ids.npy: is not a NumPy .npy file"));
  std::string future = npyFile("(1,)", {1});
  future[6] = 4;
  EXPECT_THAT(errorOf(future), EndsWith("ids.npy: has format 4.0; allowed: 1.0, 2.0, 3.0"));
  EXPECT_THAT(errorOf(npyHeader(npyDict("|u1", "(1,)") + std::string(70'000, ' '), 2) + "x"),
              HasSubstr("bytes; allowed: up to 65536"));
  const TempFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(inputError([&] { readNpy(path); }), path + ": is a folder; allowed: a file");
  EXPECT_THAT(inputError([&] { readNpy(path + "/none.npy"); }), HasSubstr("none.npy: cannot be read: No such file"));
  EXPECT_EQ(inputError([] { readNpy("/dev/zero"); }), "/dev/zero: is not a regular file");
}

TEST(Npy, RefusesMalformedHeaders) {
  for (const char* dict : {
           "",
           "{",
           "[]",
           "{'descr'}",
           "{'descr': '|u1'",
           "{'descr': '|u1' 'shape': (1,)}",
           "{'descr': |u1}",
           "{'descr': '|u1, 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': [1]}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1 1)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1.0,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} more",
           "{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (__import__('os'),)}",
       }) {
    EXPECT_THAT(errorOf(npyHeader(dict) + "x"), HasSubstr("ids.npy: header is not a NumPy dict near")) << dict;
  }
  EXPECT_THAT(errorOf(npyHeader("{'descr': '|u1', 'shape': (1,)}") + "x"),
              EndsWith("header lacks a key; needed: descr, fortran_order, shape"));
  EXPECT_THAT(errorOf(npyHeader("{'descr': '|u1', 'descr': '|u1'}") + "x"), EndsWith("header has descr twice"));
  EXPECT_THAT(errorOf(npyHeader("{'descr': '|u1', 'evil': '1'}") + "x"), HasSubstr("header key 'evil' is unknown"));
}

}  // namespace
}  // namespace moeblaze
