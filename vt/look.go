package vt

// A look is what slots refer to by number: pens and clusters. Numbers that no slot has any more are
// taken back by sweep, so both tables stay within what is on the screen, about.
type look struct {
	pens   []pen    // number 0 is the plain one
	index  []uint16 // a hash table of numbers+1, with open addressing; its length is a power of two
	before int      // as many pens may be there until the next sweep

	clusters []string
	numbers  map[string]uint32
	most     int // as many clusters may be there until the next sweep

	missed int  // since the last sweep, how often a full table had no number
	held   bool // there are slots outside the planes: nothing may be swept
}

const (
	minLooks    = 256     // sweeping for fewer isn't worth it
	maxPens     = 1 << 15 // pens at a time
	morePens    = 8 << 10 // beyond them, of those without direct colours
	fewPens     = 1 << 10 // and beyond them again, plain ones, of which there are fewer than that
	maxClusters = 1 << 14
)

func newLook() look { return look{pens: make([]pen, 1, 8), before: minLooks, most: minLooks} }

func (p pen) hash() uint32 {
	h := uint32(p.fore)*0x9e3779b1 ^ uint32(p.back)*0x85ebca6b ^ (uint32(p.line)<<11|uint32(p.attr))*0xc2b2ae35
	return h ^ h>>15
}

// find is where a pen is in the index, or where it would be.
func (l *look) find(p pen) int {
	mask := len(l.index) - 1
	at := int(p.hash()) & mask
	for l.index[at] != 0 && l.pens[l.index[at]-1] != p {
		at = (at + 1) & mask
	}
	return at
}

// reindex builds the index anew, with room for twice as many pens.
func (l *look) reindex() {
	n := 16
	for n < 4*len(l.pens) {
		n *= 2
	}
	if n != len(l.index) {
		l.index = make([]uint16, n)
	} else {
		clear(l.index)
	}
	for i, p := range l.pens[1:] {
		l.index[l.find(p)] = uint16(i + 2)
	}
}

// number is the pen's number. False: there are most already.
func (l *look) number(p pen, most int) (uint16, bool) {
	if p == (pen{}) {
		return 0, true
	}
	if 2*len(l.pens) >= len(l.index) {
		l.reindex()
	}
	at := l.find(p)
	if l.index[at] != 0 {
		return l.index[at] - 1, true
	}
	if len(l.pens) >= most {
		return 0, false
	}
	l.pens = append(l.pens, p)
	l.index[at] = uint16(len(l.pens))
	return uint16(len(l.pens) - 1), true
}

// penNumber is the number of a pen, for slots. When there are too many pens at a time it is that of a
// plainer one: direct colours become the nearest of the 256, and at last there are the first eight.
func (s *Screen) penNumber(p pen) slot {
	l := &s.look
	n, ok := l.number(p, l.before)
	if !ok && s.worthSweeping(l.before < maxPens) {
		s.sweep()
		n, ok = l.number(p, l.before)
	}
	if !ok {
		n, ok = l.number(indexedPen(p), maxPens+morePens)
	}
	if !ok {
		n, _ = l.number(plainPen(p), maxPens+morePens+fewPens)
	}
	return slot(n) << slotPen
}

// worthSweeping says whether a full table is to be swept: if it can grow, or once in so many times.
func (s *Screen) worthSweeping(grows bool) bool {
	s.look.missed++
	if s.look.held {
		return false
	}
	return grows || s.look.missed > s.few()
}

// few is how many new looks a sweep is worth.
func (s *Screen) few() int { return max(minLooks, s.cols*s.rows/8) }

// sweep drops pens and clusters that no slot has. It walks all slots, so it is done only after so many
// new ones that this adds little to each.
func (s *Screen) sweep() {
	l := &s.look
	pens := make([]uint16, len(l.pens))
	clusters := make([]uint32, len(l.clusters))
	s.eachSlot(func(x *slot) {
		pens[x.pen()] = 1
		if x.cluster() {
			clusters[x.number()] = 1
		}
	})
	kept := 1
	for i := 1; i < len(pens); i++ {
		if pens[i] != 0 {
			l.pens[kept], pens[i] = l.pens[i], uint16(kept)
			kept++
		}
	}
	pens[0] = 0
	l.pens = l.pens[:kept]
	l.reindex()
	n := uint32(0)
	clear(l.numbers)
	for i, used := range clusters {
		if used != 0 {
			l.clusters[n], clusters[i] = l.clusters[i], n
			l.numbers[l.clusters[n]] = n
			n++
		}
	}
	clear(l.clusters[n:])
	l.clusters = l.clusters[:n]
	s.eachSlot(func(x *slot) {
		if x.pen() != 0 {
			*x = *x&^(0xffff<<slotPen) | slot(pens[x.pen()])<<slotPen
		}
		if x.cluster() {
			*x = *x&^slotChar | slotCluster | slot(clusters[x.number()])
		}
	})
	few := s.few()
	l.missed = 0
	l.before = min(kept+max(few, kept), maxPens)
	l.most = min(int(n)+max(few, int(n)), maxClusters)
	s.inked, s.blanked = false, false
}

// hold keeps numbers as they are until it is undone by release; the tables may grow meanwhile.
func (l *look) hold() { l.held, l.before, l.most = true, maxPens, maxClusters }

func (l *look) release() {
	l.held = false
	l.before, l.most = min(len(l.pens)+minLooks, maxPens), min(len(l.clusters)+minLooks, maxClusters)
}

func (s *Screen) eachSlot(f func(x *slot)) {
	for _, p := range []*plane{s.main, s.alt} {
		if p == nil {
			continue
		}
		for i := range p.rows {
			r := p.rows[i].slots
			for j := range r {
				if r[j] > slotChar || r[j].cluster() {
					f(&r[j])
				}
			}
		}
	}
}

// clusterSlot is the slot of a cluster. False: there are too many.
func (s *Screen) clusterSlot(text []byte) (slot, bool) {
	l := &s.look
	n, ok := l.numbers[string(text)]
	if !ok {
		if len(l.clusters) >= l.most && s.worthSweeping(l.most < maxClusters) {
			s.sweep()
		}
		if len(l.clusters) >= l.most {
			return 0, false
		}
		if l.numbers == nil {
			l.numbers = map[string]uint32{}
		}
		n = uint32(len(l.clusters))
		t := string(text)
		l.clusters = append(l.clusters, t)
		l.numbers[t] = n
	}
	return slotCluster | slot(n), true
}

// indexedPen has no direct colours.
func indexedPen(p pen) pen {
	return pen{nearest(p.fore), nearest(p.back), nearest(p.line), p.attr}
}

// plainPen has no colours but the first eight, and no rare attributes.
func plainPen(p pen) pen {
	few := func(t tint) tint {
		if t&255 > 7 || t&tintDirect != 0 {
			return 0
		}
		return t
	}
	return pen{fore: few(p.fore), back: few(p.back), attr: p.attr & (penBold | penInverse)}
}

// nearest is the colour of the 6×6×6 cube that is nearest to a direct one.
func nearest(t tint) tint {
	if t&tintDirect == 0 {
		return t
	}
	level := func(v tint) tint { // levels are 0, 95, 135, 175, 215, 255
		if v &= 255; v < 48 {
			return 0
		} else if v < 115 {
			return 1
		} else {
			return (v - 35) / 40
		}
	}
	return tintIndexed | 16 + 36*level(t>>16) + 6*level(t>>8) + level(t)
}
