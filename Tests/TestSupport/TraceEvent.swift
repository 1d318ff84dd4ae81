import Foundation

/// One event of a trace in the format of Chrome.
package struct TraceEvent {
  package let name: String
  package let category: String
  package let phase: String
  package let process: Int
  package let row: Int
  package let time: Double
  package let duration: Double
  package let arguments: [String: String]

  /// The events of a trace; throws if the text is not valid JSON.
  package static func all(in text: String) throws -> [TraceEvent] {
    let root = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let events = root?["traceEvents"] as? [[String: Any]] ?? []
    return events.map { event in
      TraceEvent(
        name: event["name"] as? String ?? "", category: event["cat"] as? String ?? "",
        phase: event["ph"] as? String ?? "", process: event["pid"] as? Int ?? 0,
        row: event["tid"] as? Int ?? 0, time: (event["ts"] as? NSNumber)?.doubleValue ?? -1,
        duration: (event["dur"] as? NSNumber)?.doubleValue ?? -1,
        arguments: (event["args"] as? [String: Any] ?? [:]).mapValues { "\($0)" })
    }
  }
}
