// SPDX-License-Identifier: Apache-2.0
#include "lab/reader.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "lab/events_view.h"
#include "lab/table.h"

namespace sky::lab {
namespace {

constexpr std::string_view kExpiredToken =
    "the continue token is too old for a consistent list: begin again without it";

// Where the next page goes on: the revision of the first page and the last key that was given out.
struct Token {
  Revision revision = 0;
  std::string ns, name;
};

std::string Encode(const Token& token) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : Dump(Json{{"rv", token.revision}, {"ns", token.ns}, {"name", token.name}})) {
    out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

Answered<Token> Decode(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    int byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc{} || end != text.data() + i + 2) break;
    plain.push_back(static_cast<char>(byte));
  }
  const auto document = ParseJson(plain);
  const auto revision = document ? IntAt(*document, {"rv"}) : std::nullopt;
  if (!revision)
    return std::unexpected(
        BadRequest("continue key is not valid: it was not given out by this server"));
  return Token{*revision, TextAt(*document, {"ns"}), TextAt(*document, {"name"})};
}

std::string ListHead(const Call& call, Revision revision, const std::string& token,
                     size_t remaining) {
  Json metadata = {{"resourceVersion", std::to_string(revision)}};
  if (!token.empty()) metadata["continue"] = token;
  if (remaining > 0) metadata["remainingItemCount"] = remaining;
  const bool partial = call.form == Form::kMetadata;
  return fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                     partial ? "PartialObjectMetadataList" : call.resource->kind + "List",
                     partial ? "meta.k8s.io/v1" : call.resource->ApiVersion(), Dump(metadata));
}

}  // namespace

std::string RenderDocument(const Call& call, Json document, WallTime now) {
  if (call.form == Form::kTable) {
    const std::string revision = TextAt(document, {"metadata", "resourceVersion"});
    Json table =
        MakeTable(*call.resource, {document}, RowObjectOf(call.Query("includeObject")), now);
    table["metadata"] = {{"resourceVersion", revision}};
    return Dump(table);
  }
  if (call.resource->IsEventsV1()) document = ToEventsV1(std::move(document));
  return Dump(call.form == Form::kMetadata ? PartialMetadata(document) : document);
}

std::string Render(const Call& call, const Object& object, WallTime now) {
  if (call.form == Form::kWhole && !call.resource->IsEventsV1()) return object.text;
  return RenderDocument(call, Parsed(object), now);
}

Answered<Revision> ParseRevision(std::string_view text) {
  Revision revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (text.empty()) return 0;
  if (error != std::errc{} || end != text.data() + text.size() || revision < 0)
    return std::unexpected(
        BadRequest(fmt::format("resourceVersion: Invalid value: \"{}\": not a revision", text)));
  return revision;
}

Answered<server::Response> Reader::Get(const Call& call) const {
  const ObjectPtr object = store_.Get(call.resource->stored_as, call.ns, call.name);
  if (object == nullptr) return std::unexpected(NotFound(call.about()));
  const Revision at_least = TRY(ParseRevision(call.Query("resourceVersion")));
  if (at_least > store_.revision())
    return std::unexpected(TooLargeVersion(at_least, store_.revision()));
  server::Response response;
  response.body = Render(call, *object, clock_.Wall());
  return response;
}

Answered<Revision> Reader::RevisionToRead(const Call& call) const {
  const std::string_view text = call.Query("resourceVersion");
  const std::string_view match = call.Query("resourceVersionMatch");
  const Revision asked = TRY(ParseRevision(text));
  std::vector<Cause> wrong;
  const std::string field = "resourceVersionMatch";
  if (!match.empty() && text.empty())
    wrong.push_back(ForbiddenField(
        field, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  if (!match.empty() && match != "Exact" && match != "NotOlderThan")
    wrong.push_back(Unsupported(field, match, {"Exact", "NotOlderThan", ""}));
  if (match == "Exact" && text == "0")
    wrong.push_back(ForbiddenField(
        field, "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\""));
  if (call.request->target.HasQuery("sendInitialEvents"))
    wrong.push_back(ForbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  if (!wrong.empty())
    return std::unexpected(Invalid({"meta.k8s.io", "", "ListOptions", ""}, std::move(wrong)));
  if (asked > store_.revision()) return std::unexpected(TooLargeVersion(asked, store_.revision()));
  const bool exact =
      match == "Exact" || (match.empty() && asked > 0 && !call.Query("limit").empty());
  return exact ? asked : store_.revision();
}

Answered<Reader::Page> Reader::ReadPage(const Call& call, const Selection& selection) const {
  const std::string_view token_text = call.Query("continue"), limit_text = call.Query("limit");
  size_t limit = 0;
  if (!limit_text.empty()) {
    int64_t number = 0;
    const char* end = limit_text.data() + limit_text.size();
    if (const auto [at, bad] = std::from_chars(limit_text.data(), end, number);
        bad != std::errc{} || at != end)
      return std::unexpected(BadRequest(fmt::format("limit: Invalid value: \"{}\"", limit_text)));
    limit = static_cast<size_t>(std::max<int64_t>(0, number));
  }
  Token after;
  Page page;
  if (token_text.empty()) {
    page.revision = TRY(RevisionToRead(call));
    // Version 0 is answered from the watch cache of a real server, whole.
    if (call.Query("resourceVersion") == "0") limit = 0;
  } else {
    if (!call.Query("resourceVersion").empty())
      return std::unexpected(
          BadRequest("specifying resource version is not allowed when using continue"));
    after = TRY(Decode(token_text));
    page.revision = after.revision;
  }
  auto listed = store_.List(call.resource->stored_as, selection.ns(), page.revision);
  if (!listed)
    return std::unexpected(Expired(token_text.empty()
                                       ? "this resourceVersion has been compacted: list without one"
                                       : std::string(kExpiredToken)));
  size_t matching = 0;
  for (ObjectPtr& object : *listed) {
    if (!token_text.empty() && std::tie(object->ns, object->name) <= std::tie(after.ns, after.name))
      continue;
    if (!selection.Matches(*object)) continue;
    ++matching;
    if (limit == 0 || page.objects.size() < limit) page.objects.push_back(std::move(object));
  }
  if (page.objects.size() < matching) {
    const Object& last = *page.objects.back();
    page.continue_token = Encode({page.revision, last.ns, last.name});
    if (selection.everything()) page.remaining = matching - page.objects.size();
  }
  return page;
}

Answered<server::Response> Reader::List(const Call& call) const {
  const Selection selection = TRY(Selection::Of(call));
  const Page page = TRY(ReadPage(call, selection));
  server::Response response;
  if (call.form == Form::kTable) {
    std::vector<Json> documents;
    for (const ObjectPtr& object : page.objects) documents.push_back(Parsed(*object));
    Json table = MakeTable(*call.resource, documents, RowObjectOf(call.Query("includeObject")),
                           clock_.Wall());
    table["metadata"]["resourceVersion"] = std::to_string(page.revision);
    if (!page.continue_token.empty()) table["metadata"]["continue"] = page.continue_token;
    if (page.remaining > 0) table["metadata"]["remainingItemCount"] = page.remaining;
    response.body = Dump(table) + "\n";
    return response;
  }
  response.body = ListHead(call, page.revision, page.continue_token, page.remaining);
  for (size_t i = 0; i < page.objects.size(); ++i) {
    if (i > 0) response.body += ",";
    response.body += Render(call, *page.objects[i], clock_.Wall());
  }
  response.body += "]}\n";
  return response;
}

}  // namespace sky::lab
