// die HOW: ends as programs in C do.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#endif

char *__strcpy_chk(char *, const char *, size_t);

static volatile int zero;

static int deeper(int n) {
	volatile char frame[4096];
	frame[0] = n;
	return n < 0 ? 0 : deeper(n + 1) + frame[0];
}

static void smash(const char *with) {
	char small[8];
	strcpy(small, with);
	printf("%s\n", small);
}

static void forbidden(void) {
	struct sock_filter no[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {4, no};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	syscall(SYS_getppid);
}

static void *sleeper(void *p) { pause(); return p; }

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2) puts(argv[2]);
	if (!strcmp(how, "segv")) *(volatile int *)(long)zero = 1;
	if (!strcmp(how, "abort")) abort();
	if (!strcmp(how, "ill")) __builtin_trap();
	if (!strcmp(how, "assert")) assert(zero == 1 && "ring is full");
	if (!strcmp(how, "stack")) return deeper(1);
	if (!strcmp(how, "smash")) smash("much more than eight characters");
	if (!strcmp(how, "forbidden")) forbidden();
	if (!strcmp(how, "spin")) for (;;) zero = 0;
	if (!strcmp(how, "raise")) raise(atoi(argv[2]));
	if (!strcmp(how, "realtime")) raise(SIGRTMIN);
	if (!strcmp(how, "fpe")) {
		printf("%d\n", 7 / zero);
		raise(SIGFPE); // where a division by zero is no trap
	}
	if (!strcmp(how, "double")) {
		char *p = malloc(24);
		free(p);
		free(p);
	}
	if (!strcmp(how, "heap")) {
		char *p = malloc(24);
		memset(p, 'x', 64); // over the size of the rest of the heap
		free(malloc(4000));
	}
	if (!strcmp(how, "invalid")) {
		char *p = malloc(24);
		free(p + 8);
	}
	if (!strcmp(how, "bus")) {
		int fd = open("mapped", O_RDWR | O_CREAT, 0600);
		char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		p[0] = 1;
	}
	if (!strcmp(how, "malloc")) {
		char *p = malloc((size_t)1 << 45);
		if (p == NULL) {
			perror("malloc of the lookup table");
			return 1;
		}
	}
	if (!strcmp(how, "pipe")) {
		int fds[2];
		pipe(fds);
		close(fds[0]);
		write(fds[1], "x", 1);
	}
	if (!strcmp(how, "files")) {
		for (;;) if (open("/dev/null", O_RDONLY) < 0) {
			fprintf(stderr, "shard reader: open: %s\n", strerror(errno));
			return 1;
		}
	}
	if (!strcmp(how, "threads")) {
		pthread_t t;
		for (;;) {
			int e = pthread_create(&t, NULL, sleeper, NULL);
			if (e) {
				fprintf(stderr, "pthread_create: %s\n", strerror(e));
				return 1;
			}
		}
	}
	if (!strcmp(how, "bind") || !strcmp(how, "connect")) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!strcmp(how, "bind")) {
			to.sin_port = htons(atoi(getenv("PORT")));
			if (bind(fd, (struct sockaddr *)&to, sizeof to)) {
				perror("bind");
				return 1;
			}
		} else if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
			perror("connect");
			return 1;
		}
	}
	if (!strcmp(how, "open") && open(argv[2], O_RDONLY) < 0) {
		perror(argv[2]);
		return 1;
	}
	if (!strcmp(how, "overflow")) {
		char small[4];
		__strcpy_chk(small, "eight characters", sizeof small);
	}
	if (!strcmp(how, "lock")) {
		void *p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mlock(p, 1 << 20)) {
			perror("mlock");
			return 1;
		}
	}
	return 0;
}
