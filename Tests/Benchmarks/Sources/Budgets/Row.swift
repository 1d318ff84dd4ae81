/// One row of the table: a promise of the package, and the measurement.
struct Row: Encodable {
  /// The measured thing.
  let what: String
  /// The unit of both measurements.
  let unit: String
  let ours: Double
  /// The measurement of the reference; `nil` for a limit.
  let reference: Double?
  /// The description of the reference.
  let against: String
  /// The upper limit of the ratio or, without a reference, of our measurement.
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
