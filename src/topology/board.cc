// SPDX-License-Identifier: Apache-2.0
#include "topology/board.h"

#include <algorithm>

namespace sky::topology {

using model::Resources;

Board::Board(const Question& question, const model::ResourceNames& names)
    : question_(question), names_(names), seat_(question.tasks.size(), SIZE_MAX) {
  limited_ = std::any_of(question.kinds.begin(), question.kinds.end(),
                         [](const Kind& kind) { return kind.per_spot != INT64_MAX; });
  spots_.reserve(question.spots.size());
  for (const Spot& spot : question.spots) {
    spots_.push_back({spot.room, spot.quota_room, spot.idle, spot.members, {}, {}});
    if (limited_) spots_.back().kinds.assign(question.kinds.size(), 0);
  }
  for (const Shelf& shelf : question.shelves) left_.push_back(shelf.left);
  for (size_t i = 0; i < question.held.size(); ++i) {
    const Held& held = question.held[i];
    spots_[held.spot].opened.push_back(opened_.size());
    opened_.push_back({true, i, held.spot, held.used, 0});
  }
}

const Share& Board::ShareOf(const Opened& opened) const {
  return opened.held ? question_.held[opened.quota].share : question_.shelves[opened.quota].share;
}

bool Board::MayStand(size_t task, size_t spot) const {
  const size_t kind = question_.tasks[task].kind;
  const State& state = spots_[spot];
  return question_.kinds[kind].admits[spot] &&
         (question_.tasks[task].beside || state.load < cap_) &&
         (!limited_ || state.kinds[kind] < question_.kinds[kind].per_spot) &&
         (!state.idle || Fits(question_.kinds[kind].uses, *state.idle, names_));
}

bool Board::Holds(const Share& share, const Resources& used, const Resources& more) const {
  return std::all_of(share.listed.begin(), share.listed.end(), [&](model::ResourceId name) {
    return more[name] <= 0 || more[name] <= share.limit[name] - used[name];
  });
}

Resources Board::Growth(const Share& share, const Resources& used, const Resources& more) const {
  return Resources::Max(share.request, used + more) - Resources::Max(share.request, used);
}

bool Board::FitsOpened(size_t task, size_t index) const {
  const Opened& opened = opened_[index];
  const Kind& kind = question_.kinds[question_.tasks[task].kind];
  if (Direct(opened)) return false;
  if (opened.held
          ? !kind.held[opened.quota]
          : std::find(kind.shelves.begin(), kind.shelves.end(), opened.quota) == kind.shelves.end())
    return false;
  const Share& share = ShareOf(opened);
  return Holds(share, opened.used, kind.request) &&
         Fits(Growth(share, opened.used, kind.request), spots_[opened.spot].room, names_);
}

bool Board::FitsNew(size_t task, size_t spot, size_t index) const {
  const Shelf& shelf = question_.shelves[index];
  const Resources& request = question_.kinds[question_.tasks[task].kind].request;
  if (shelf.direct) return shelf.admits[spot];
  return shelf.admits[spot] && Holds(shelf.share, {}, request) &&
         Fits(shelf.share.request, spots_[spot].quota_room, names_) &&
         Fits(Resources::Max(shelf.share.request, request), spots_[spot].room, names_);
}

void Board::Open(size_t spot, size_t shelf) {
  --left_[shelf];
  const Share& share = question_.shelves[shelf].share;
  spots_[spot].room -= share.request;
  spots_[spot].quota_room -= share.request;
  spots_[spot].opened.push_back(opened_.size());
  opened_.push_back({false, shelf, spot, {}, 0});
  log_.push_back({Step::What::kOpen, 0, opened_.size() - 1, 0, {}});
}

void Board::Sit(size_t task, size_t index) {
  Opened& opened = opened_[index];
  const size_t kind = question_.tasks[task].kind;
  Step step{Step::What::kSeat, task, index, 0, {}};
  if (!Direct(opened))
    step.growth = Growth(ShareOf(opened), opened.used, question_.kinds[kind].request);
  State& spot = spots_[opened.spot];
  spot.room -= step.growth;
  if (spot.idle) *spot.idle -= question_.kinds[kind].uses;
  spot.load += question_.tasks[task].beside ? 0 : 1;
  if (limited_) ++spot.kinds[kind];
  opened.used += question_.kinds[kind].request;
  ++opened.tasks;
  seat_[task] = index;
  log_.push_back(std::move(step));
}

// The tasks of an opened quota would do as well with one of `shelf`, at the same price.
bool Board::MaySwap(const Opened& opened, size_t index) const {
  const Shelf& shelf = question_.shelves[index];
  const Share& now = ShareOf(opened);
  if (shelf.direct || Direct(opened)) return false;
  if (!shelf.admits[opened.spot] || !(shelf.share.request == now.request) ||
      !Holds(shelf.share, {}, opened.used))
    return false;
  for (size_t task = 0; task < seat_.size(); ++task) {
    if (seat_[task] == SIZE_MAX || &opened_[seat_[task]] != &opened) continue;
    const auto& shelves = question_.kinds[question_.tasks[task].kind].shelves;
    if (std::find(shelves.begin(), shelves.end(), index) == shelves.end()) return false;
  }
  return true;
}

void Board::Swap(size_t opened, size_t shelf) {
  log_.push_back({Step::What::kSwap, 0, opened, opened_[opened].quota, {}});
  ++left_[opened_[opened].quota];
  --left_[shelf];
  opened_[opened].quota = shelf;
}

// Somebody who has a quota of `shelf` takes one of another: then one of `shelf` is left.
bool Board::FreeOne(size_t shelf, std::vector<bool>& seen) {
  if (seen[shelf]) return false;
  seen[shelf] = true;
  for (size_t i = question_.held.size(); i < opened_.size(); ++i) {
    if (opened_[i].quota != shelf) continue;
    for (size_t other = 0; other < left_.size(); ++other) {
      ++steps_;
      if (other == shelf || seen[other] || !MaySwap(opened_[i], other)) continue;
      if (left_[other] <= 0 && !FreeOne(other, seen)) continue;
      Swap(i, other);
      return true;
    }
  }
  return false;
}

bool Board::Put(size_t task, size_t spot) {
  ++steps_;
  if (!MayStand(task, spot)) return false;
  // The newest first: neighbours in rank share a quota.
  const std::vector<size_t>& here = spots_[spot].opened;
  for (size_t i = here.size(); i-- > 0;)
    if (FitsOpened(task, here[i])) return Sit(task, here[i]), true;
  if (held_only_) return false;
  const std::vector<size_t>& shelves = question_.kinds[question_.tasks[task].kind].shelves;
  bool could = false;
  for (const size_t shelf : shelves) {
    if (!FitsNew(task, spot, shelf)) continue;
    could = true;
    if (left_[shelf] <= 0) continue;
    Open(spot, shelf);
    return Sit(task, opened_.size() - 1), true;
  }
  if (!could || left_.size() < 2) return false;
  for (const size_t shelf : shelves) {
    std::vector<bool> seen(left_.size(), false);
    if (!FitsNew(task, spot, shelf) || !FreeOne(shelf, seen)) continue;
    Open(spot, shelf);
    return Sit(task, opened_.size() - 1), true;
  }
  return false;
}

std::vector<Board::Way> Board::Ways(size_t task, size_t spot) {
  ++steps_;
  std::vector<Way> ways;
  if (!MayStand(task, spot)) return ways;
  for (const size_t index : spots_[spot].opened)
    if (FitsOpened(task, index)) ways.push_back({opened_[index].held, opened_[index].quota, index});
  for (const size_t shelf : question_.kinds[question_.tasks[task].kind].shelves)
    if (left_[shelf] > 0 && FitsNew(task, spot, shelf)) ways.push_back({false, shelf, SIZE_MAX});
  return ways;
}

void Board::Take(size_t task, size_t spot, const Way& way) {
  if (way.opened != SIZE_MAX) return Sit(task, way.opened);
  Open(spot, way.quota);
  Sit(task, opened_.size() - 1);
}

void Board::BackTo(size_t mark) {
  while (log_.size() > mark) {
    const Step& step = log_.back();
    Opened& opened = opened_[step.opened];
    State& spot = spots_[opened.spot];
    switch (step.what) {
      case Step::What::kSeat: {
        const size_t kind = question_.tasks[step.task].kind;
        spot.room += step.growth;
        if (spot.idle) *spot.idle += question_.kinds[kind].uses;
        spot.load -= question_.tasks[step.task].beside ? 0 : 1;
        if (limited_) --spot.kinds[kind];
        opened.used -= question_.kinds[kind].request;
        --opened.tasks;
        seat_[step.task] = SIZE_MAX;
        break;
      }
      case Step::What::kSwap:
        ++left_[opened.quota];
        --left_[step.before];
        opened.quota = step.before;
        break;
      case Step::What::kOpen: {
        const Share& share = ShareOf(opened);
        ++left_[opened.quota];
        spot.room += share.request;
        spot.quota_room += share.request;
        spot.opened.pop_back();
        opened_.pop_back();
        break;
      }
    }
    log_.pop_back();
  }
}

std::vector<Seat> Board::Seats() const {
  std::vector<Seat> seats;
  for (const size_t index : seat_) {
    if (index == SIZE_MAX) return {};
    const Opened& opened = opened_[index];
    seats.push_back({opened.spot, opened.held, opened.quota, index});
  }
  return seats;
}

}  // namespace sky::topology
