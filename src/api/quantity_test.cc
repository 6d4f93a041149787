// SPDX-License-Identifier: Apache-2.0
#include "api/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace sky::api {
namespace {

using Format = Quantity::Format;
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

Quantity Parse(std::string_view text) {
  auto quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.has_value()) << text << ": " << quantity.error().message();
  return quantity.value_or(Quantity());
}

Int128 Power(Int128 base, int exponent) {
  return exponent == 0 ? Int128{1} : base * Power(base, exponent - 1);
}

rc::Gen<Quantity> AnyQuantity() {
  return rc::gen::map(
      rc::gen::tuple(
          rc::gen::arbitrary<int64_t>(), rc::gen::inRange(0, 64), rc::gen::inRange(0, 38),
          rc::gen::element(Format::kDecimalSI, Format::kBinarySI, Format::kDecimalExponent)),
      [](const auto& parts) {
        const auto& [value, shift, power, format] = parts;
        return Quantity::Nanos(Int128{value >> shift} * Power(10, power % 20) << (power % 3 * 10),
                               format);
      });
}

TEST(Quantity, PrintsWhatItReadInCanonicalForm) {
  const std::vector<std::pair<std::string, std::string>> vectors = {
      {"1.5", "1500m"},
      {"1024Mi", "1Gi"},
      {"1e-1", "100e-3"},
      {".5", "500m"},
      {"0.5Ki", "512"},
      {"1.5e3", "1500"},
      {"0.1m", "100u"},
      {"0.1Ki", "102400m"},
      {"1e7", "10e6"},
      {"0.5n", "1n"},
      {"1.1Ki", "1126400m"},
      {"1000k", "1M"},
      {"1.5Gi", "1536Mi"},
      {"2048Ki", "2Mi"},
      {"1000000", "1M"},
      {"1.0001", "1000100u"},
      {"8Ei", "9223372036854775807"},
      {"-.5", "-500m"},
      {"0", "0"},
      {"-0", "0"},
      {"0Ki", "0"},
      {"0e7", "0"},
      {"1.5Ti", "1536Gi"},
      {"0.5Gi", "512Mi"},
      {"5.", "5"},
      {"+1", "1"},
      {"-1", "-1"},
      {"1e3", "1e3"},
      {"1E3", "1e3"},
      {"1E", "1E"},
      {"1Ei", "1Ei"},
      {"10P", "10P"},
      {"100E", "100E"},
      {"1000E", "1000E"},
      {"1e+3", "1e3"},
      {"001", "1"},
      {"1.G", "1G"},
      {"1023Ki", "1023Ki"},
      {"1023", "1023"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"-8Ei", "-9223372036854775807"},
      {"1500m", "1500m"},
      {"0.0001", "100u"}};
  for (const auto& [in, out] : vectors) EXPECT_EQ(Parse(in).ToString(), out) << in;
}

TEST(Quantity, RoundsAwayFromZeroToWholeAndMilliUnits) {
  struct Vector {
    std::string_view text;
    int64_t value, milli;
  };
  for (const auto& [text, value, milli] : std::vector<Vector>{{"1.5", 2, 1500},
                                                              {".5", 1, 500},
                                                              {"0.1m", 1, 1},
                                                              {"0.1Ki", 103, 102400},
                                                              {"1.1Ki", 1127, 1126400},
                                                              {"1.0001", 2, 1001},
                                                              {"-.5", -1, -500},
                                                              {"-0.1m", -1, -1},
                                                              {"8", 8, 8000},
                                                              {"0", 0, 0}}) {
    EXPECT_EQ(Parse(text).Value(), value) << text;
    EXPECT_EQ(Parse(text).MilliValue(), milli) << text;
  }
}

TEST(Quantity, SaturatesWhereAnInt64WouldWrap) {
  EXPECT_EQ(Parse("1E").Value(), 1'000'000'000'000'000'000);
  EXPECT_EQ(Parse("1E").MilliValue(), kInt64Max);
  EXPECT_EQ(Parse("-1E").MilliValue(), kInt64Min);
  EXPECT_EQ(Parse("1e20").Value(), kInt64Max);
  EXPECT_EQ(Parse("9223372036854775807").Value(), kInt64Max);
  EXPECT_EQ(Parse("9223372036854775808").Value(), kInt64Max);
  EXPECT_EQ(Parse("-9223372036854775809").Value(), kInt64Min);
}

TEST(Quantity, TellsExaFromAnExponent) {
  EXPECT_EQ(Parse("1E").nanos(), Power(10, 27));
  EXPECT_EQ(Parse("1E").format(), Format::kDecimalSI);
  EXPECT_EQ(Parse("1E3").Value(), 1000);
  EXPECT_EQ(Parse("1E3").format(), Format::kDecimalExponent);
  EXPECT_EQ(Parse("1Ei").nanos(), Power(2, 60) * Power(10, 9));
}

TEST(Quantity, RefusesWhatTheGrammarDoesNotHave) {
  std::vector<std::string> refused = {"", " 1", "1 ", "1 Gi", "1\n", std::string("1k\0", 3)};
  std::istringstream words(
      "1e 1K 1mi 0x10 \xD9\xA1 + - . -. m Gi e3 1e+ 1e- 1ee3 1e3.5 1.1.1 1.. ++1 +-1 1i .5i 1kk "
      "1Kim "
      "1e3k NaN inf 1,5 1_000 1E3E 1Eii");
  for (std::string word; words >> word;) refused.push_back(word);
  for (const std::string& text : refused) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity.has_value()) << text;
    EXPECT_EQ(quantity.error().code(), Code::kInvalid);
    EXPECT_NE(quantity.error().message().find("is not a quantity"), std::string::npos);
  }
}

TEST(Quantity, NamesTheTextItRefusesButNotAllOfALongOne) {
  EXPECT_EQ(Quantity::Parse("1K").error().message(),
            "\"1K\" is not a quantity: a number with at most one suffix is wanted, like 500m, 8, "
            "1.5Gi or 1e3");
  EXPECT_LT(Quantity::Parse(std::string(10'000, 'x')).error().message().size(), 200u);
}

TEST(Quantity, HugeExponentsSaturateInsteadOfHangingOrWrapping) {
  const Quantity most = Quantity::Nanos(Power(10, 38));
  const std::vector<std::string_view> huge = {
      "1e4294967297", "2E6024865272343",   "1e99999999999999999999999", "1e2147483648", "1e29",
      "1e30",         "0.00001e4294967297"};
  for (const std::string_view text : huge) EXPECT_EQ(Parse(text), most) << text;
  EXPECT_EQ(Parse("-1e4294967297"), -most);
  EXPECT_EQ(Parse("1e28").nanos(), Power(10, 37));
  EXPECT_EQ(Parse("0e4294967297"), Quantity());
  EXPECT_EQ(Parse("1e-4294967297").nanos(), 1);
  EXPECT_EQ(Parse("-1e-2147483649").nanos(), -1);
}

TEST(Quantity, ReadsTenThousandDigitsExactly) {
  const std::string nines(10'000, '9');
  EXPECT_EQ(Parse(nines), Quantity::Nanos(Power(10, 38)));
  EXPECT_EQ(Parse("0." + nines), Quantity::Units(1));
  EXPECT_EQ(Parse("0." + nines + "Gi").Value(), int64_t{1} << 30);
  EXPECT_EQ(Parse(std::string(10'000, '0') + "7"), Quantity::Units(7));
  EXPECT_EQ(Parse("1." + std::string(10'000, '0') + "1Gi").nanos(),
            (Power(2, 30) * Power(10, 9)) + 1);
  EXPECT_EQ(Parse("1." + std::string(10'000, '0') + "Gi").nanos(), Power(2, 30) * Power(10, 9));
  EXPECT_EQ(Parse("1e" + nines), Quantity::Nanos(Power(10, 38)));
  EXPECT_EQ(Parse("0." + std::string(10'000, '0') + "1").nanos(), 1);
  EXPECT_EQ(Parse("0." + std::string(10'000, '0') + "1e10001"), Quantity::Units(1));
}

TEST(Quantity, AThousandAddAndRemovePairsReturnExactlyToTheStart) {
  const Quantity tenth = Parse("0.1");
  const Quantity start = Parse("7.3");
  Quantity sum = start;
  for (int i = 0; i < 1000; ++i) sum = sum + tenth;
  EXPECT_EQ(sum, Parse("107.3"));
  for (int i = 0; i < 1000; ++i) sum = sum - tenth;
  EXPECT_EQ(sum, start);
}

TEST(Quantity, AZeroLeftSideTakesTheOthersFormat) {
  EXPECT_EQ((Quantity() + Parse("2Gi")).ToString(), "2Gi");
  EXPECT_EQ((Parse("0") - Parse("2Gi")).ToString(), "-2Gi");
  EXPECT_EQ((Parse("1024") + Parse("1Ki")).ToString(), "2048");
  EXPECT_EQ((Parse("1Ki") + Parse("1024")).ToString(), "2Ki");
}

TEST(Quantity, SumsSaturateAtBothEnds) {
  const Quantity most = Parse("1e40");
  EXPECT_EQ(most + most, most);
  EXPECT_EQ(-most - most, -most);
  EXPECT_EQ(most - most, Quantity());
  EXPECT_EQ(Quantity::Units(kInt64Min).nanos(), Int128{kInt64Min} * Power(10, 9));
  EXPECT_EQ(Quantity::Milli(1500).ToString(), "1500m");
}

TEST(Quantity, ASumTooLargeForBinarySuffixesIsPrintedSoThatItReadsBack) {
  const Quantity sum = Parse("4Ei") + Parse("4Ei");
  EXPECT_EQ(sum.format(), Format::kBinarySI);
  EXPECT_EQ(sum.ToString(), "9223372036854775808");
  EXPECT_EQ(Parse(sum.ToString()), sum);
}

RC_GTEST_PROP(Quantity, ReadsBackWhatItPrints, ()) {
  const Quantity quantity = *AnyQuantity();
  const auto again = Quantity::Parse(quantity.ToString());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == quantity);
  // 2000 with a binary format stays "2000", which reads as decimal and is "2k" from then on.
  if (quantity.format() != Format::kBinarySI) RC_ASSERT(again->ToString() == quantity.ToString());
}

RC_GTEST_PROP(Quantity, AddingAndTakingAwayChangesNothing, ()) {
  const Quantity a = Quantity::Nanos(*rc::gen::arbitrary<int64_t>());
  const Quantity b = *AnyQuantity();
  RC_PRE(b < Parse("1e28") && b > Parse("-1e28"));
  RC_ASSERT(a + b - b == a);
  RC_ASSERT(a + b == b + a);
  RC_ASSERT((a < b) == (-b < -a));
}

RC_GTEST_PROP(Quantity, NeverCrashesOnTextAndPrintsWhatItAccepts, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789.+-eEinumkKMGTP ")));
  const auto quantity = Quantity::Parse(text);
  if (quantity) RC_ASSERT(Parse(quantity->ToString()) == *quantity);
}

}  // namespace
}  // namespace sky::api
