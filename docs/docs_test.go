package docs

import (
	"strings"
	"testing"
)

func TestTheMainGuideIsTheOneWithoutATopic(t *testing.T) {
	main, err := Guide("")
	if err != nil || !strings.HasPrefix(main, "# pasar for agents\n") {
		t.Errorf("guide starts with %.40q, %v", main, err)
	}
	if topics := Topics(); topics[0].Name != Main || len(topics) < 3 {
		t.Errorf("topics: %+v", topics)
	}
}

func TestEveryTopicHasATitleAndAText(t *testing.T) {
	for _, topic := range Topics() {
		text, err := Guide(topic.Name)
		if err != nil || len(text) < 500 || !strings.HasPrefix(text, "# "+topic.Title+"\n") || topic.Title == "" {
			t.Errorf("%s: title %q, %d bytes, %v", topic.Name, topic.Title, len(text), err)
		}
	}
}

func TestAnUnknownTopicNamesThoseThereAre(t *testing.T) {
	for _, topic := range []string{"nope", "../docs", "agents.md"} {
		if _, err := Guide(topic); err == nil || !strings.Contains(err.Error(), "there are agents, api, cloud, config, console, jobs") {
			t.Errorf("%s: %v", topic, err)
		}
	}
}
