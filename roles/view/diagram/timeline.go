package diagram

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Timeline is work over time: a lane for each agent or person, bars in lanes, and loops
// from a bar to a later one that answers it.
type Timeline struct {
	From, To time.Time
	Open     bool     // To is now
	Lanes    []string // from top to bottom
	Bars     []Bar
	Loops    []Loop
}

// Bar is a stretch of time in a lane.
type Bar struct {
	Lane     int
	From, To time.Time
	Class    string // its tone
	Label    string // shown where it has room
	Title    string // the tooltip
	Ref      string // the id of the record that it stands for; may be empty
}

// Loop leads from a bar to another, by their indexes.
type Loop struct{ From, To int }

// The measures of a timeline.
const (
	timelineWidth = 960.0
	laneNames     = 130.0
	barHeight     = 16.0
	barGap        = 4.0
	laneGap       = 10.0
	axisHeight    = 24.0
	leastBar      = 3.0 // a bar is never narrower
)

// Draw draws the timeline. Bars of a lane that overlap in time have rows of their own.
func (t Timeline) Draw() *Picture {
	p := &Picture{Width: timelineWidth}
	span := t.To.Sub(t.From)
	if span <= 0 {
		span = time.Millisecond
	}
	room := timelineWidth - laneNames - 10
	x := func(at time.Time) float64 {
		part := float64(at.Sub(t.From)) / float64(span)
		return laneNames + room*min(max(part, 0), 1)
	}
	places := make([]Rect, len(t.Bars)) // without a width: not drawn
	for i, b := range t.Bars {
		left := min(x(b.From), timelineWidth-10-leastBar)
		if b.Class == Wait && x(b.To)-left < leastBar {
			continue // nobody waited long enough to be seen
		}
		places[i] = Rect{left, 0, max(x(b.To)-left, leastBar), barHeight}
	}
	f := folded{bars: t.Bars, places: places, into: map[int]int{}, count: map[int]int{}}
	y := axisHeight
	for lane, name := range t.Lanes {
		rows := f.pack(lane, y)
		p.text(4, y+12, "", Fit(name, laneNames-12))
		y += float64(max(rows, 1))*(barHeight+barGap) - barGap + laneGap
		p.path("rule", fmt.Sprintf("M0 %sH%s", num(y-laneGap/2), num(timelineWidth)), false)
	}
	p.Height = y
	t.axis(p, x, span)
	for i, b := range t.Bars {
		if places[i].W == 0 {
			continue
		}
		if n := f.count[i]; n > 0 {
			b.Label, b.Title, b.Ref = fmt.Sprintf("%d together", n+1), fmt.Sprintf("%d together, the first: %s", n+1, b.Title), ""
		}
		p.box(places[i], b.Class, b.Title, b.Ref)
		if label := Fit(b.Label, places[i].W-6); label != "" && len([]rune(label)) > 2 {
			p.text(places[i].X+3, places[i].Y+12, "", label)
		}
	}
	drawn := map[Loop]bool{}
	for _, l := range t.Loops {
		l = Loop{f.by(l.From), f.by(l.To)}
		if l.From == l.To || drawn[l] {
			continue
		}
		drawn[l] = true
		from, to := places[l.From], places[l.To]
		x1, y1, x2, y2 := from.X+from.W, from.Y+barHeight/2, to.X, to.Y+barHeight/2
		p.path("loop", fmt.Sprintf("M%s %sC%s %s %s %s %s %s", num(x1), num(y1), num(x1+24), num(y1), num(x2-24), num(y2), num(x2), num(y2)), true)
	}
	return p
}

// folded are bars with their places. Where a lane has too many at one time, one bar stands for
// several of its tone that touch.
type folded struct {
	bars   []Bar
	places []Rect      // without a width: not drawn
	into   map[int]int // from a bar to that which stands for it
	count  map[int]int // how many others a bar stands for
}

// by is the bar that stands for a bar.
func (f *folded) by(i int) int {
	if to, ok := f.into[i]; ok {
		return to
	}
	return i
}

// The rows that a lane may have, and the bars that are folded first where it has more: they say little.
const (
	mostRows = 12
	shortBar = 12.0
)

// pack gives the bars of a lane their rows, from the lane's top on, and returns the number of rows.
func (f *folded) pack(lane int, top float64) int {
	rows := pack(f.bars, f.places, lane, top)
	for _, widest := range []float64{shortBar, timelineWidth} {
		if rows > mostRows {
			f.fold(lane, widest)
			rows = pack(f.bars, f.places, lane, top)
		}
	}
	return rows
}

// fold folds the bars of a lane that are at most so wide.
func (f *folded) fold(lane int, widest float64) {
	last := map[string]int{} // by tone
	for _, i := range inLane(f.bars, f.places, lane) {
		r := &f.places[i]
		if r.W > widest {
			continue
		}
		to, ok := last[f.bars[i].Class]
		if first := &f.places[to]; ok && r.X <= first.X+first.W+1 {
			first.W = max(first.W, r.X+r.W-first.X)
			r.W, f.into[i], f.count[to] = 0, to, f.count[to]+f.count[i]+1
			continue
		}
		last[f.bars[i].Class] = i
	}
	for i, to := range f.into { // one that stood for others may be folded itself
		f.into[i] = f.by(to)
	}
}

// inLane are the bars of a lane that are drawn, from left to right.
func inLane(bars []Bar, places []Rect, lane int) (mine []int) {
	for i, b := range bars {
		if b.Lane == lane && places[i].W > 0 {
			mine = append(mine, i)
		}
	}
	slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(places[a].X, places[b].X) })
	return mine
}

// pack gives the bars of a lane their rows, from the lane's top on, and returns the number of
// rows: each bar has the first row with room.
func pack(bars []Bar, places []Rect, lane int, top float64) int {
	mine := inLane(bars, places, lane)
	var ends []float64
	for _, i := range mine {
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= places[i].X })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row] = places[i].X + places[i].W + 1
		places[i].Y = top + float64(row)*(barHeight+barGap)
	}
	return len(ends)
}

// steps are the distances that the marks of an axis may have.
var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// axis draws marks at round distances from the beginning.
func (t Timeline) axis(p *Picture, x func(time.Time) float64, span time.Duration) {
	const most = 8
	step := steps[len(steps)-1]
	for _, s := range steps {
		if span/s <= most {
			step = s
			break
		}
	}
	if span/step > most { // many days
		step *= time.Duration(math.Ceil(float64(span) / float64(step) / most))
	}
	room := timelineWidth
	if t.Open {
		const says = "now"
		room = x(t.To) - Width(says) - 4
		p.text(room+2, 12, "", says)
		p.path("now", fmt.Sprintf("M%s 4V%s", num(x(t.To)), num(p.Height)), false)
	}
	for at := time.Duration(0); at <= span; at += step {
		left := x(t.From.Add(at))
		p.path("rule", fmt.Sprintf("M%s %sV%s", num(left), num(axisHeight-6), num(p.Height)), false)
		if label := "+" + at.String(); left+2+Width(label) <= room {
			p.text(left+2, 12, "dim", label)
		}
	}
}
