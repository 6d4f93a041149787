// SPDX-License-Identifier: Apache-2.0
#include "lab/proto_body.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace sky::lab {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMaxMessageDepth = 16;

enum class Type : uint8_t { kText, kInt, kBool, kMessage, kTextMap, kIntOrString };

struct Message;
struct Field {
  uint32_t number;
  std::string_view name;
  Type type;
  bool repeated = false;
  const Message* message = nullptr;
};
struct Message {
  std::span<const Field> fields;
};

constexpr Field kOwnerFields[] = {
    {1, "kind", Type::kText},       {3, "name", Type::kText},
    {4, "uid", Type::kText},        {5, "apiVersion", Type::kText},
    {6, "controller", Type::kBool}, {7, "blockOwnerDeletion", Type::kBool}};
constexpr Message kOwner{kOwnerFields};
constexpr Field kMetaFields[] = {{1, "name", Type::kText},
                                 {2, "generateName", Type::kText},
                                 {3, "namespace", Type::kText},
                                 {5, "uid", Type::kText},
                                 {6, "resourceVersion", Type::kText},
                                 {11, "labels", Type::kTextMap},
                                 {12, "annotations", Type::kTextMap},
                                 {13, "ownerReferences", Type::kMessage, true, &kOwner},
                                 {14, "finalizers", Type::kText, true}};
constexpr Message kMeta{kMetaFields};

constexpr Field kPreconditionFields[] = {{1, "uid", Type::kText},
                                         {2, "resourceVersion", Type::kText}};
constexpr Message kPreconditions{kPreconditionFields};
constexpr Field kDeleteFields[] = {{1, "gracePeriodSeconds", Type::kInt},
                                   {2, "preconditions", Type::kMessage, false, &kPreconditions},
                                   {4, "propagationPolicy", Type::kText},
                                   {5, "dryRun", Type::kText, true}};
constexpr Message kDeleteOptions{kDeleteFields};
constexpr Field kEvictionFields[] = {{1, "metadata", Type::kMessage, false, &kMeta},
                                     {2, "deleteOptions", Type::kMessage, false, &kDeleteOptions}};
constexpr Message kEviction{kEvictionFields};

constexpr Field kTargetFields[] = {
    {1, "kind", Type::kText}, {3, "name", Type::kText}, {5, "apiVersion", Type::kText}};
constexpr Message kTarget{kTargetFields};
constexpr Field kBindingFields[] = {{1, "metadata", Type::kMessage, false, &kMeta},
                                    {2, "target", Type::kMessage, false, &kTarget}};
constexpr Message kBinding{kBindingFields};

constexpr Field kNamedFields[] = {{1, "metadata", Type::kMessage, false, &kMeta}};
constexpr Message kNamed{kNamedFields};
constexpr Field kConfigMapFields[] = {{1, "metadata", Type::kMessage, false, &kMeta},
                                      {2, "data", Type::kTextMap},
                                      {4, "immutable", Type::kBool}};
constexpr Message kConfigMap{kConfigMapFields};
constexpr Field kPriorityFields[] = {{1, "metadata", Type::kMessage, false, &kMeta},
                                     {2, "value", Type::kInt},
                                     {3, "globalDefault", Type::kBool},
                                     {4, "description", Type::kText},
                                     {5, "preemptionPolicy", Type::kText}};
constexpr Message kPriorityClass{kPriorityFields};

constexpr Field kRequirementFields[] = {
    {1, "key", Type::kText}, {2, "operator", Type::kText}, {3, "values", Type::kText, true}};
constexpr Message kRequirement{kRequirementFields};
constexpr Field kSelectorFields[] = {{1, "matchLabels", Type::kTextMap},
                                     {2, "matchExpressions", Type::kMessage, true, &kRequirement}};
constexpr Message kSelector{kSelectorFields};
constexpr Field kBudgetSpecFields[] = {{1, "minAvailable", Type::kIntOrString},
                                       {2, "selector", Type::kMessage, false, &kSelector},
                                       {3, "maxUnavailable", Type::kIntOrString}};
constexpr Message kBudgetSpec{kBudgetSpecFields};
constexpr Field kBudgetFields[] = {{1, "metadata", Type::kMessage, false, &kMeta},
                                   {2, "spec", Type::kMessage, false, &kBudgetSpec}};
constexpr Message kBudget{kBudgetFields};

struct Known {
  std::string_view kind;
  const Message* message;
};
constexpr Known kKinds[] = {{"Namespace", &kNamed},
                            {"ServiceAccount", &kNamed},
                            {"ConfigMap", &kConfigMap},
                            {"PriorityClass", &kPriorityClass},
                            {"PodDisruptionBudget", &kBudget},
                            {"Binding", &kBinding},
                            {"Eviction", &kEviction},
                            {"DeleteOptions", &kDeleteOptions}};

// One field on the wire.
struct Piece {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a length-delimited one
  bool delimited = false;
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  Result<Piece> Next() {
    const uint64_t key = TRY(Varint());
    Piece piece;
    piece.number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        piece.value = TRY(Varint());
        return piece;
      case 1:
        TRY(Take(8));
        return piece;
      case 5:
        TRY(Take(4));
        return piece;
      case 2: {
        const uint64_t size = TRY(Varint());
        piece.bytes = TRY(Take(size));
        piece.delimited = true;
        return piece;
      }
      default:
        return Fail(Code::kInvalid, "not a protobuf message: wire type {}", key & 7);
    }
  }

 private:
  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Fail(Code::kInvalid, "not a protobuf message: a number doesn't end");
  }
  Result<std::string_view> Take(uint64_t size) {
    if (size > rest_.size())
      return Fail(Code::kInvalid, "not a protobuf message: it ends too early");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

Result<Json> Read(std::string_view bytes, const Message& message, int depth);

Result<std::pair<std::string, std::string>> ReadEntry(std::string_view bytes) {
  std::pair<std::string, std::string> entry;
  ProtoReader reader(bytes);
  while (!reader.done()) {
    const Piece piece = TRY(reader.Next());
    if (piece.number == 1) entry.first = piece.bytes;
    if (piece.number == 2) entry.second = piece.bytes;
  }
  return entry;
}

// {1: type (0 int, 1 text), 2: int, 3: text}
Result<Json> ReadIntOrString(std::string_view bytes) {
  uint64_t type = 0, number = 0;
  std::string text;
  ProtoReader reader(bytes);
  while (!reader.done()) {
    const Piece piece = TRY(reader.Next());
    if (piece.number == 1) type = piece.value;
    if (piece.number == 2) number = piece.value;
    if (piece.number == 3) text = piece.bytes;
  }
  return type == 0 ? Json(static_cast<int64_t>(number)) : Json(text);
}

Result<Json> ReadValue(const Field& field, const Piece& piece, int depth) {
  switch (field.type) {
    case Type::kInt:
      return Json(static_cast<int64_t>(piece.value));
    case Type::kBool:
      return Json(piece.value != 0);
    case Type::kIntOrString:
      return ReadIntOrString(piece.bytes);
    case Type::kMessage:
      return Read(piece.bytes, *field.message, depth + 1);
    default:
      return Json(piece.bytes);
  }
}

Result<Json> Read(std::string_view bytes, const Message& message, int depth) {
  if (depth > kMaxMessageDepth)
    return Fail(Code::kInvalid, "the protobuf message is nested too deep");
  Json out = Json::object();
  ProtoReader reader(bytes);
  while (!reader.done()) {
    const Piece piece = TRY(reader.Next());
    const auto field = std::ranges::find(message.fields, piece.number, &Field::number);
    if (field == message.fields.end()) continue;
    const std::string name(field->name);
    if (field->type == Type::kTextMap) {
      const auto [key, value] = TRY(ReadEntry(piece.bytes));
      out[name][key] = value;
      continue;
    }
    Json value = TRY(ReadValue(*field, piece, depth));
    // Go writes empty texts too; in JSON they are absent.
    if (value.is_string() && value.get_ref<const std::string&>().empty()) continue;
    if (field->repeated)
      out[name].push_back(std::move(value));
    else
      out[name] = std::move(value);
  }
  return out;
}

}  // namespace

// runtime.Unknown: {1: {1: apiVersion, 2: kind}, 2: the message}
Result<Json> ParseProtobuf(std::string_view body) {
  if (!body.starts_with(kMagic))
    return Fail(Code::kInvalid, "the body says that it is protobuf, and doesn't begin so");
  std::string_view type_meta, raw;
  ProtoReader envelope(body.substr(kMagic.size()));
  while (!envelope.done()) {
    const Piece piece = TRY(envelope.Next());
    if (piece.number == 1) type_meta = piece.bytes;
    if (piece.number == 2) raw = piece.bytes;
  }
  const auto [version, kind] = TRY(ReadEntry(type_meta));
  const auto known = std::ranges::find(kKinds, std::string_view(kind), &Known::kind);
  if (known == std::ranges::end(kKinds))
    return Fail(Code::kInvalid, "this server reads no protobuf of kind \"{}\": send JSON", kind);
  Json document = TRY(Read(raw, *known->message, 0), "{}", kind);
  document["apiVersion"] = version;
  document["kind"] = kind;
  return document;
}

}  // namespace sky::lab
