package vt

import (
	"fmt"
	"slices"
	"testing"
)

func TestCellsSayWhatIsWhereAndHowItLooks(t *testing.T) {
	s := NewScreen(20, 2)
	_, _ = s.Write([]byte("a\x1b[1;31mb\x1b[0;48;5;200;4m日\x1b[0;38;2;1;2;3;7me\u0301\x1b[m  \x1b[44m \x1b[m"))
	var got []string
	s.Cells(0, func(col, width int, text string, p Pen) {
		if text != " " || p != (Pen{}) {
			got = append(got, fmt.Sprintf("%d+%d %q %+v", col, width, text, p))
		}
	})
	want := []string{
		fmt.Sprintf("0+1 %q %+v", "a", Pen{}),
		fmt.Sprintf("1+1 %q %+v", "b", Pen{Fore: Tint{Kind: Indexed, Index: 1}, Bold: true}),
		fmt.Sprintf("2+2 %q %+v", "日", Pen{Back: Tint{Kind: Indexed, Index: 200}, Underline: true}),
		fmt.Sprintf("4+1 %q %+v", "e\u0301", Pen{Fore: Tint{Kind: Direct, R: 1, G: 2, B: 3}, Inverse: true}),
		fmt.Sprintf("7+1 %q %+v", " ", Pen{Back: Tint{Kind: Indexed, Index: 4}}),
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells are\n%q\nwant\n%q", got, want)
	}
	s.Cells(-1, func(int, int, string, Pen) { t.Error("there is no row -1") })
	s.Cells(2, func(int, int, string, Pen) { t.Error("there is no row 2") })
	s.Cells(1, func(int, int, string, Pen) { t.Error("the second row is blank") })
}
