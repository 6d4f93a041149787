// SPDX-License-Identifier: Apache-2.0
#include "kube/api_status.h"

#include <gtest/gtest.h>

namespace sky::kube {
namespace {

using namespace std::chrono_literals;

Code CodeOfAnswer(int status, const std::string& reason = "") {
  return ToError(Response{status, {}, R"({"kind":"Status","reason":")" + reason + R"("})"}).code();
}

TEST(ApiStatusTest, EachStatusSaysWhatIsKnownAboutAWrite) {
  EXPECT_EQ(CodeOfAnswer(400), Code::kInvalid);
  EXPECT_EQ(CodeOfAnswer(401), Code::kUnauthorized);
  EXPECT_EQ(CodeOfAnswer(403), Code::kForbidden);
  EXPECT_EQ(CodeOfAnswer(404), Code::kNotFound);
  EXPECT_EQ(CodeOfAnswer(405), Code::kInvalid);
  EXPECT_EQ(CodeOfAnswer(408), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOfAnswer(409, "AlreadyExists"), Code::kAlreadyExists);
  EXPECT_EQ(CodeOfAnswer(409, "Conflict"), Code::kConflict);
  EXPECT_EQ(CodeOfAnswer(409), Code::kConflict);
  EXPECT_EQ(CodeOfAnswer(410), Code::kExpired);
  EXPECT_EQ(CodeOfAnswer(415), Code::kInvalid);
  EXPECT_EQ(CodeOfAnswer(422), Code::kInvalid);
  EXPECT_EQ(CodeOfAnswer(429), Code::kTooManyRequests);
  for (const int status : {500, 501, 502, 503, 504})
    EXPECT_EQ(CodeOfAnswer(status), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOfAnswer(302), Code::kInternal);
}

TEST(ApiStatusTest, AStatusObjectBecomesAReadableMessage) {
  const Response response{
      422,
      {},
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid",)"
      R"("message":"Queue \"q\" is invalid","details":{"causes":[)"
      R"({"reason":"FieldValueInvalid","message":"must be positive","field":"spec.weight"}]}})"};
  EXPECT_EQ(
      ToError(response).message(),
      "422 Invalid: Queue \"q\" is invalid; FieldValueInvalid at spec.weight: must be positive");
}

TEST(ApiStatusTest, ACauseThatTheMessageAlreadyTellsIsNotRepeated) {
  const Response response{
      422,
      {},
      R"({"kind":"Status","reason":"Invalid","message":"spec.weight: must be positive",)"
      R"("details":{"causes":[{"reason":"R","message":"must be positive","field":"spec.weight"}]}})"};
  EXPECT_EQ(ToError(response).message(), "422 Invalid: spec.weight: must be positive");
}

TEST(ApiStatusTest, TheLongerOfHeaderAndBodyIsTheWait) {
  const std::string body = R"({"kind":"Status","details":{"retryAfterSeconds":3}})";
  EXPECT_EQ(ToError(Response{429, 1s, body}).retry_after(), 3s);
  EXPECT_EQ(ToError(Response{429, 5s, body}).retry_after(), 5s);
  EXPECT_EQ(ToError(Response{429, {}, R"({"kind":"Status","details":{"retryAfterSeconds":-3}})"})
                .retry_after(),
            0s);
  for (const char* much : {"86400", "9223372036854775807", "18446744073709551615", "1e300"}) {
    const std::string status =
        fmt::format(R"({{"kind":"Status","details":{{"retryAfterSeconds":{}}}}})", much);
    EXPECT_LE(ToError(Response{429, {}, status}).retry_after(), kMostRetryAfter) << much;
  }
}

TEST(ApiStatusTest, APageOfAProxyIsShortenedToOneLine) {
  const std::string message =
      ToError(Response{502, {}, "<html>\n" + std::string(1000, 'x')}).message();
  EXPECT_TRUE(message.starts_with("502: <html> xxx")) << message;
  EXPECT_LT(message.size(), 300u);
}

TEST(ApiStatusTest, StrangeBodiesDoNoHarm) {
  for (const char* body :
       {"", "[", "null", "{}", R"({"kind":"Status","details":[],"message":7,"code":"x"})",
        R"({"kind":"Status","details":{"causes":[1,null,{"reason":2}]}})", "\xff"})
    EXPECT_EQ(ToError(Response{500, {}, body}).code(), Code::kUnknownOutcome) << body;
}

TEST(ApiStatusTest, AnErrorEventIsExpiredByCodeOrByReason) {
  EXPECT_EQ(CodeOf(ParseApiStatusObject(R"({"kind":"Status","code":410,"reason":"Expired"})")),
            Code::kExpired);
  EXPECT_EQ(CodeOf(ParseApiStatusObject(R"({"kind":"Status","reason":"Gone"})")), Code::kExpired);
  EXPECT_EQ(CodeOf(ParseApiStatusObject(R"({"kind":"Status","code":500})")), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(ParseApiStatusObject(R"({})")), Code::kInternal);
}

TEST(ApiStatusTest, CausesCanBeAskedFor) {
  const auto status = ParseApiStatus(
      504, R"({"kind":"Status","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})");
  EXPECT_TRUE(status.Has("ResourceVersionTooLarge"));
  EXPECT_FALSE(status.Has("Other"));
  EXPECT_EQ(status.code, 504);
}

}  // namespace
}  // namespace sky::kube
