// die HOW: ends as programs in C++ do.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Late {
	~Late() noexcept(false) { throw std::logic_error("thrown by a destructor"); }
};

int main(int argc, char **argv) {
	std::string how = argc > 1 ? argv[1] : "";
	if (how == "throw") throw std::runtime_error("tokenizer: vocabulary of 0 entries");
	if (how == "number") throw 42;
	if (how == "alloc") {
		std::vector<std::vector<char>> all;
		for (;;) all.emplace_back(64 << 20, 'x');
	}
	if (how == "range") std::vector<int>(3).at(7);
	if (how == "key") std::map<std::string, int>().at("heads");
	if (how == "terminate") {
		std::thread t([] { });
		return 0; // not joined
	}
	if (how == "pure") {
		try {
			Late l;
			throw std::runtime_error("first");
		} catch (...) {
		}
	}
	if (how == "null") {
		const char *none = nullptr;
		std::string s(none);
	}
	if (how == "threads") {
		std::vector<std::thread> all;
		for (;;) all.emplace_back([] { std::this_thread::sleep_for(std::chrono::minutes(1)); });
	}
	if (how == "list") std::filesystem::directory_iterator("shards");
	return 0;
}
