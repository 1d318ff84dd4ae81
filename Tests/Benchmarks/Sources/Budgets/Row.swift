/// One line of the table: a promise of the package's, and what was measured.
struct Row: Encodable {
  /// What was measured.
  let what: String
  /// The unit of both measurements.
  let unit: String
  let ours: Double
  /// What ours is compared with; nothing for a limit.
  let reference: Double?
  /// What the reference is.
  let against: String
  /// The most that the ratio may be or, without a reference, ours.
  let budget: Double

  var ratio: Double? { reference.map { ours / $0 } }
  var isMet: Bool { (ratio ?? ours) <= budget }

  private enum CodingKeys: CodingKey {
    case what, unit, ours, reference, against, ratio, budget, met
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(what, forKey: .what)
    try container.encode(unit, forKey: .unit)
    try container.encode(ours, forKey: .ours)
    try container.encode(reference, forKey: .reference)
    try container.encode(against, forKey: .against)
    try container.encode(ratio, forKey: .ratio)
    try container.encode(budget, forKey: .budget)
    try container.encode(isMet, forKey: .met)
  }
}
