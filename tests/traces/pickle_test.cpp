#include "traces/formats/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/input_error.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string errorOf(const std::string& bytes) {
  return inputError([&] { readPickle(bytes, "p.pickle"); });
}

// pickle.dumps of {'n': [0, 255, 65535, -1, -2**31, 2**40, -2**40, 2**63-1, -2**63, 2**64-1], 'x': (1.5, None, True,
// False), 't': ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), 's': ['ä', f, f], 'd': {'k': {}}} with f = ['f'].
// Protocols 2 and 3 differ only in their number, and so do 4 and 5.
constexpr std::string_view kProtocol2 =
    "80027d71002858010000006e71015d7102284b004bff4dffff4affffffff4a000000808a060000000000018a06000000"
    "0000ff8a08ffffffffffffff7f8a0800000000000000808a09ffffffffffffffff0065580100000078710328473ff800"
    "00000000004e8889747104580100000074710528294b018571064b014b028671074b014b024b03877108284b014b024b"
    "034b0474710974710a580100000073710b5d710c285802000000c3a4710d5d710e580100000066710f61680e65580100"
    "00006471107d711158010000006b71127d711373752e";
constexpr std::string_view kProtocol4 =
    "800495a8000000000000007d94288c016e945d94284b004bff4dffff4affffffff4a000000808a060000000000018a06"
    "0000000000ff8a08ffffffffffffff7f8a0800000000000000808a09ffffffffffffffff00658c01789428473ff80000"
    "000000004e888974948c01749428294b0185944b014b0286944b014b024b038794284b014b024b034b04749474948c01"
    "73945d94288c02c3a4945d948c01669461680e658c0164947d948c016b947d9473752e";

std::string python(int protocol) {
  std::string bytes = fromHex(protocol < 4 ? kProtocol2 : kProtocol4);
  bytes[1] = static_cast<char>(protocol);
  return bytes;
}

TEST(Pickle, ReadsWhatPythonWrites) {
  for (int protocol : {2, 3, 4, 5}) {
    const ValueTree tree = readPickle(python(protocol), "p");
    const auto items = [&](std::string_view key) { return tree.items(*tree.find(tree.root(), key)); };
    std::vector<int64_t> numbers;
    for (ValueId id : items("n")) numbers.push_back(static_cast<int64_t>(tree.bits(id)));
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
    EXPECT_THAT(numbers, ElementsAre(0, 255, 65535, -1, -2147483648, int64_t{1} << 40, -(int64_t{1} << 40), kMax, kMin,
                                     -1 /* the bits of 2^64 - 1 */));
    EXPECT_EQ(tree.kind(items("n")[9]), ValueKind::unsignedInteger);
    EXPECT_EQ(tree.real(items("x")[0]), 1.5);
    EXPECT_THAT(items("x").subspan(1), ElementsAre(ValueId::none, ValueId::yes, ValueId::no));
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(tree.kind(items("t")[i]), ValueKind::tuple);
      EXPECT_EQ(tree.items(items("t")[i]).size(), i);
    }
    EXPECT_EQ(tree.text(items("s")[0]), "ä");
    EXPECT_EQ(items("s")[1], items("s")[2]) << "shared, not copied";
    EXPECT_EQ(tree.kind(items("d")[1]), ValueKind::dict);
    EXPECT_EQ(tree.clamped(), 0);
  }
}

TEST(Pickle, ReadsTheOtherPlainOpcodes) {
  using namespace std::string_literals;
  // A dict of 'a' and 'b' made by DICT, then entries added by SETITEM. On the way: BINUNICODE8, bytes, LIST, POP of a
  // value and of a mark, and 72-bit integers.
  const ValueTree tree =
      readPickle("\x80\x04("s + "\x8d\x01\0\0\0\0\0\0\0a"s + "K\x01" + "C\x01" + "b(K\x02l" + "d" + "K\x07" + "0(0" +
                     "\x8c\x01" + "c" + "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x01s" + "\x8c\x01" + "d" +
                     "\x8a\x09\0\0\0\0\0\0\0\0\xfes"s + "\x8c\x01" + "e\x8a\0s."s,
                 "p");
  const ValueId root = tree.root();
  EXPECT_EQ(tree.bits(*tree.find(root, "a")), 1u);
  EXPECT_EQ(tree.items(*tree.find(root, "b")).size(), 1u);
  EXPECT_EQ(tree.bits(*tree.find(root, "c")), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(static_cast<int64_t>(tree.bits(*tree.find(root, "d"))), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(tree.bits(*tree.find(root, "e")), 0u);
  EXPECT_EQ(tree.clamped(), 2);
}

TEST(Pickle, CodeIsRefusedByName) {
  EXPECT_EQ(errorOf("\x80\x02"
                    "cos\nsystem\n(X\x01"),
            "p.pickle: byte 2: pickle opcode GLOBAL is refused; allowed: plain data only");
  const std::pair<char, const char*> kRefused[] = {
      {'\x93', "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},  {'\x81', "NEWOBJ"},
      {'\x92', "NEWOBJ_EX"},    {'i', "INST"},    {'o', "OBJ"},    {'\x82', "EXT1"},
      {'\x83', "EXT2"},         {'\x84', "EXT4"}, {'P', "PERSID"}, {'Q', "BINPERSID"}};
  for (const auto& [opcode, name] : kRefused)
    EXPECT_THAT(errorOf(std::string("\x80\x04NN") + opcode + "."),
                HasSubstr("byte 4: pickle opcode " + std::string(name)));
  EXPECT_THAT(errorOf("\x80\x04\xff"), HasSubstr("0xff is no pickle opcode"));
}

TEST(Pickle, MalformedIsRefused) {
  using namespace std::string_literals;
  EXPECT_THAT(errorOf(""), HasSubstr("not a pickle of protocol 2 to 5"));
  EXPECT_THAT(errorOf("(dp0\n."), HasSubstr("not a pickle of protocol 2 to 5"));
  EXPECT_THAT(errorOf("\x80\x06N."), HasSubstr("protocol 6; allowed: 2 to 5"));
  EXPECT_THAT(errorOf("\x80\x02."), HasSubstr("byte 2: pickle lacks a value on its stack"));
  EXPECT_THAT(errorOf("\x80\x02(."), HasSubstr("lacks a value"));
  EXPECT_THAT(errorOf("\x80\x02N(a."), HasSubstr("lacks a value"));
  EXPECT_THAT(errorOf("\x80\x02Ne."), HasSubstr("lacks a mark"));
  EXPECT_THAT(errorOf("\x80\x02}(Nu."), HasSubstr("dict lacks a value"));
  EXPECT_THAT(errorOf("\x80\x02}Na."), HasSubstr("adds items to a dict; allowed: a list"));
  EXPECT_THAT(errorOf("\x80\x02h\x07."), HasSubstr("memo slot 7 is empty"));
  EXPECT_THAT(errorOf("\x80\x02Nr\xff\xff\xff\xff."), HasSubstr("memo slot 4294967295 is out of range"));
  EXPECT_THAT(errorOf("\x80\x02X\xff\xff\xff\xff"
                      "abc."),
              HasSubstr("4294967295 bytes announced, 4 left"));
  EXPECT_THAT(errorOf("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), HasSubstr("truncated"));
  EXPECT_THAT(errorOf("\x80\x04\x95\xff\0\0\0\0\0\0\0N."s), HasSubstr("frame is truncated"));
  EXPECT_THAT(errorOf("\x80\x02N.N"), HasSubstr("has 1 bytes after the end"));
}

TEST(Pickle, BombsAreRefusedOrStaySmall) {
  EXPECT_THAT(errorOf("\x80\x02" + std::string(1000, '(') + "."), HasSubstr("nested too deep; allowed: up to 256"));
  const ValueTree deep = readPickle("\x80\x02" + std::string(100'000, ']') + std::string(99'999, 'a') + ".", "p");
  EXPECT_EQ(deep.items(deep.root()).size(), 1u);
  // Each list holds the list before it ten times, so unfolding all of them would give 10^50 items.
  std::string bomb = "\x80\x02]q";
  bomb += '\0';
  for (char i = 1; i <= 50; ++i) {
    bomb += "](";
    for (int copy = 0; copy < 10; ++copy) bomb += std::string("h") + static_cast<char>(i - 1);
    bomb += std::string("eq") + i;
  }
  const ValueTree tree = readPickle(bomb + ".", "p");
  EXPECT_EQ(tree.items(tree.root()).size(), 10u);
  // A list that holds itself.
  const ValueTree cycle = readPickle(std::string("\x80\x02]q\0h\0a.", 9), "p");
  EXPECT_THAT(cycle.items(cycle.root()), ElementsAre(cycle.root()));
  EXPECT_THAT(errorOf("\x80\x02X\x01" + std::string("\0\0\x02", 3) + std::string((32 << 20) + 9, 'x')),
              HasSubstr("a text of 33554433 bytes; allowed: up to 16777216"));
}

TEST(Pickle, EveryPrefixAndEveryFlippedBitIsAnsweredAtOnce) {
  for (int protocol : {2, 4}) {
    const std::string whole = python(protocol);
    for (size_t length = 0; length < whole.size(); ++length) errorOf(whole.substr(0, length));
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      try {
        readPickle(flipped, "p");
      } catch (const InputError&) {
      }
    }
  }
}

TEST(PickleWriter, IsReadBack) {
  const std::vector<int64_t> kNumbers = {0,           -1,          255,          -256,
                                         2147483647,  2147483648,  -2147483649,  std::numeric_limits<int64_t>::max(),
                                         127ll << 32, 128ll << 32, -128ll << 32, std::numeric_limits<int64_t>::min()};
  PickleWriter out;
  out.beginDict();
  out.text("n");
  out.beginList();
  for (int64_t number : kNumbers) out.integer(number);
  out.endList();
  const PickleWriter::Memo numbers = out.remember();
  out.text("again");
  out.reference(numbers);
  out.text("big");
  out.integer(std::numeric_limits<uint64_t>::max());
  out.text("mixed");
  out.beginList();
  out.real(-0.25);
  out.none();
  out.boolean(true);
  for (int i = 0; i < 600; ++i) out.text(std::to_string(i % 300));  // needs more than the 256 memo slots of one byte
  out.text("a");
  out.text("b");
  out.pair();
  out.endList();
  out.endDict();
  const ValueTree tree = readPickle(out.finish(), "p");
  const auto items = [&](std::string_view key) { return tree.items(*tree.find(tree.root(), key)); };
  for (size_t i = 0; i < kNumbers.size(); ++i) EXPECT_EQ(static_cast<int64_t>(tree.bits(items("n")[i])), kNumbers[i]);
  EXPECT_EQ(tree.find(tree.root(), "again"), tree.find(tree.root(), "n"));
  EXPECT_EQ(tree.bits(*tree.find(tree.root(), "big")), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(tree.real(items("mixed")[0]), -0.25);
  EXPECT_EQ(items("mixed")[2], ValueId::yes);
  EXPECT_EQ(tree.text(items("mixed")[3 + 599]), "299");
  EXPECT_EQ(items("mixed")[3 + 299], items("mixed")[3 + 599]) << "each text once";
  EXPECT_EQ(tree.items(items("mixed").back()).size(), 2u);
}

}  // namespace
}  // namespace moeblaze
