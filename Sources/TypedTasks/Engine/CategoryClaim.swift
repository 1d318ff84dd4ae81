import Foundation
import Futures

/// A task's request for its categories.
///
///   idle ── enter ──▶ waiting ── free ──▶ asking for a slot
///                        ▲                    │ take, with a slot
///                        ├── not all are free ┤
///                        │                    └── all are free ──▶ holding
///   any ── leave ──▶ over
final class CategoryClaim: Numbered, @unchecked Sendable {
  // Sendable: the variables are guarded by the lock of `CategoryTable.shared`.
  enum Phase { case idle, waiting, asking, holding, over }

  let categories: [TaskCategory]
  /// The place among the tasks of a category: the order in which the tasks were enqueued.
  let number: Int
  /// The slots of the task's queue; `nil` for a queue that is not a `TaskQueue`.
  let slots: SlotUse?
  /// Which queue the task is in; `nil` for a plain queue that the library does not know.
  let queue: ObjectIdentifier?
  var phase = Phase.idle
  /// The group that a waiting claim is parked in.
  var group: ParkedClaims?
  /// Whether the claim asked for a slot some time ago and has got none.
  var isLate = false
  /// The last category of the claim that was found to be held, and the number of changes
  /// of holders before that.
  var lastLook: (held: TaskCategory?, change: Int) = (nil, -1)
  /// How often all categories of the claim have been looked at; for tests.
  var looks = 0
  /// The task, until the claim is over.
  var task: AnyFuture?

  init(
    number: Int, categories: [TaskCategory], slots: SlotUse?, plainQueue: OperationQueue? = nil,
    task: AnyFuture? = nil
  ) {
    self.number = number
    self.categories = categories
    self.slots = slots
    queue = slots.map { ObjectIdentifier($0) } ?? plainQueue.map { ObjectIdentifier($0) }
    self.task = task
  }

  /// Whether the task's queue appeared to have a free slot when the claim began to ask: its
  /// own request may have taken the last one.
  var hadRoom = false

  /// Whether the task's queue appears to have a free slot, apart from the one that the claim
  /// asks for.
  var hasRoom: Bool {
    guard !isLate else { return false }
    guard let slots else { return true }
    return hadRoom ? !slots.isHalted : slots.hasRoom
  }
}

/// Waiting claims that have some of their categories in common.
final class ParkedClaims: Numbered {
  /// The categories that all claims of the group need.
  let common: Set<TaskCategory>
  /// The common category that the group is parked at.
  var place: TaskCategory
  /// The number of the first claim.
  var number = Int.max
  var claims = NumberedList<CategoryClaim>()

  init(_ common: Set<TaskCategory>, at place: TaskCategory) {
    self.common = common
    self.place = place
  }
}

/// An object with a place in an order.
protocol Numbered: AnyObject {
  var number: Int { get }
}

/// Objects sorted by their numbers.
///
/// They are in pieces, so that inserting and removing moves only a few of them.
struct NumberedList<Element: Numbered> {
  /// The largest number of elements in a piece.
  private static var limit: Int { 512 }

  /// None of the pieces is empty.
  private var pieces: [[Element]] = []

  var elements: FlattenSequence<[[Element]]> { pieces.joined() }
  var first: Element? { pieces.first?[0] }
  var isEmpty: Bool { pieces.isEmpty }

  mutating func insert(_ element: Element) {
    guard !isEmpty else { return pieces.append([element]) }
    let place = place(of: element.number)
    if place == pieces.count - 1, pieces[place].count == Self.limit,
      pieces[place][Self.limit - 1].number < element.number
    {
      // Usually the elements come in their order: the pieces are full then.
      return pieces.append([element])
    }
    pieces[place].insert(element, at: index(of: element.number, in: place))
    guard pieces[place].count > Self.limit else { return }
    let rest = Array(pieces[place][(Self.limit / 2)...])
    pieces[place].removeLast(rest.count)
    pieces.insert(rest, at: place + 1)
  }

  mutating func remove(_ element: Element) {
    guard !isEmpty else { return }
    let place = place(of: element.number)
    let index = index(of: element.number, in: place)
    guard index < pieces[place].count, pieces[place][index] === element else { return }
    pieces[place].remove(at: index)
    if pieces[place].isEmpty { pieces.remove(at: place) }
  }

  /// The last piece that begins with no larger number, or the first piece.
  private func place(of number: Int) -> Int {
    max(partition(pieces.count) { pieces[$0][0].number <= number } - 1, 0)
  }

  /// The first index in a piece whose element has no smaller number.
  private func index(of number: Int, in place: Int) -> Int {
    partition(pieces[place].count) { pieces[place][$0].number < number }
  }

  /// The number of indices, from the first one, that have a property.
  private func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
