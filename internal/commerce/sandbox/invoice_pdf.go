package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// Sizes of the invoice's PDF, in millimetres: A4 with two columns.
const (
	pdfMargin  = 20
	pdfText    = 130
	pdfAmount  = 40
	pdfLine    = 6
	pdfTitle   = 16
	pdfLetters = 10
)

// pdf returns the invoice as a PDF. Its fonts have the letters of Western Europe; others are shown as dots.
func (i Invoice) pdf(u Customer) ([]byte, error) {
	d := fpdf.New("P", "mm", "A4", "")
	latin := d.UnicodeTranslatorFromDescriptor("")
	text := func(s string) string { return latin(strings.ReplaceAll(s, "−", "-")) }
	d.SetCreationDate(time.Unix(i.FinalizedAt, 0).UTC())
	d.SetModificationDate(time.Unix(i.FinalizedAt, 0).UTC())
	d.SetTitle("Invoice "+i.Number, true)
	d.SetMargins(pdfMargin, pdfMargin, pdfMargin)
	d.AddPage()
	d.SetFont("Helvetica", "B", pdfTitle)
	d.CellFormat(0, 2*pdfLine, text("Invoice "+i.Number), "", 1, "L", false, 0, "")
	d.SetFont("Helvetica", "", pdfLetters)
	page := i.page(u)
	for _, line := range []string{page.Customer, "Date " + date(i.FinalizedAt), "Status " + i.Status, "Sandbox: no real money"} {
		d.CellFormat(0, pdfLine, text(line), "", 1, "L", false, 0, "")
	}
	if i.DueDate > 0 {
		d.CellFormat(0, pdfLine, text("Due "+date(i.DueDate)), "", 1, "L", false, 0, "")
	}
	row := func(name, amount, border string) {
		if amount == "" {
			return
		}
		d.CellFormat(pdfText, pdfLine, text(name), border, 0, "L", false, 0, "")
		d.CellFormat(pdfAmount, pdfLine, text(amount), border, 1, "R", false, 0, "")
	}
	d.Ln(pdfLine)
	for _, l := range page.Lines {
		row(l.Description, l.Amount, "T")
		row(l.Period, " ", "")
	}
	d.Ln(pdfLine)
	row("Subtotal", page.Subtotal, "T")
	row("Discount", page.Discount, "")
	row("Tax", page.Tax, "")
	row("Total", page.Total, "")
	row("Balance", page.Balance, "")
	d.SetFont("Helvetica", "B", pdfLetters)
	row("Amount due", page.Due, "T")
	row("Amount paid", i.money(i.PaidCents), "")
	var out bytes.Buffer
	if err := d.Output(&out); err != nil {
		return nil, fmt.Errorf("write the invoice's PDF: %w", err)
	}
	return out.Bytes(), nil
}
