import Foundation

/// The rows as a Markdown table for people.
struct Table {
  private static let heads = ["What", "Ours", "Reference", "Ratio", "Budget", "Met"]
  let rows: [Row]

  var text: String {
    let cells = rows.map(cells)
    let widths = Self.heads.indices.map { column in
      ([Self.heads] + cells).map { $0[column].count }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = zip(cells, widths).enumerated().map { column, cell in
        let gap = String(repeating: " ", count: cell.1 - cell.0.count)
        return isNumber(column) ? gap + cell.0 : cell.0 + gap
      }
      return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule = widths.enumerated().map { column, width in
      isNumber(column)
        ? String(repeating: "-", count: width - 1) + ":" : String(repeating: "-", count: width)
    }
    return ([line(Self.heads), line(rule)] + cells.map(line)).joined(separator: "\n")
  }

  private func isNumber(_ column: Int) -> Bool { column == 1 || column == 3 || column == 4 }

  private func cells(_ row: Row) -> [String] {
    [
      row.what, number(row.ours, row.unit),
      row.reference.map { "\(number($0, row.unit)), \(row.against)" } ?? "",
      row.ratio.map { String(format: "%.2f", $0) } ?? "",
      row.ratio == nil ? number(row.budget, row.unit) : String(format: "%.2f", row.budget),
      row.isMet ? "yes" : "NO",
    ]
  }

  private func number(_ value: Double, _ unit: String) -> String {
    let digits = value < 100 && value != value.rounded() ? "%.1f" : "%.0f"
    return String(format: digits, value) + (unit.isEmpty ? "" : " " + unit)
  }
}
