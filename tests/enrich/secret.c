// SPDX-License-Identifier: Apache-2.0
/* secret.c: arguments that hold passwords, and arguments that only look like it. A line is an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "enrich/secret.h"

#define GITHUB "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
#define JWT    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"

static const struct {
	const char *from, *to;
	ssize_t count;
} masked[] = {
	/* names of options */
	{"app\n--password=hunter2", "app\n--password=***", 1},
	{"app\n--password\nhunter2\n-v", "app\n--password\n***\n-v", 1},
	{"app\n--password=two words, 3=4", "app\n--password=***", 1},
	{"app\n-password\nhunter2", "app\n-password\n***", 1},
	{"app\n--db-password=x1\n--clientSecret=x2\n--auth_token\nx3",
	 "app\n--db-password=***\n--clientSecret=***\n--auth_token\n***", 3},
	{"app\n--token=abc\n--api-key=def\n--apiKey\nghi",
	 "app\n--token=***\n--api-key=***\n--apiKey\n***", 3},
	{"app\n--pass=hunter2\n--passphrase\nx y", "app\n--pass=***\n--passphrase\n***", 2},
	{"aws\n--aws-secret-access-key\nwJalr/K7", "aws\n--aws-secret-access-key\n***", 1},
	{"java\n-Dspring.datasource.password=hunter2\n-jar\na.jar",
	 "java\n-Dspring.datasource.password=***\n-jar\na.jar", 1},
	{"keytool\n-storepass\nhunter2\n-keypass\nhunter3",
	 "keytool\n-storepass\n***\n-keypass\n***", 2},
	{"gpg\n--batch\n--passphrase\nhunter2", "gpg\n--batch\n--passphrase\n***", 1},
	{"kubectl\ncreate\nsecret\ngeneric\ndb\n--from-literal=password=hunter2",
	 "kubectl\ncreate\nsecret\ngeneric\ndb\n--from-literal=password=***", 1},
	/* variables */
	{"env\nPGPASSWORD=hunter2\npsql", "env\nPGPASSWORD=***\npsql", 1},
	{"env\nAWS_SECRET_ACCESS_KEY=wJalr/K7==\nMYSQL_PWD=x1\nB=c",
	 "env\nAWS_SECRET_ACCESS_KEY=***\nMYSQL_PWD=***\nB=c", 2},
	{"env\nDB_PASSWORD=two words\nprog", "env\nDB_PASSWORD=***\nprog", 1},
	{"docker\nrun\n-e\nPOSTGRES_PASSWORD=hunter2\n--env=API_TOKEN=abc\npostgres",
	 "docker\nrun\n-e\nPOSTGRES_PASSWORD=***\n--env=API_TOKEN=***\npostgres", 2},
	/* within other text */
	{"sh\n-c\nPGPASSWORD=hunter2 psql -h db; echo done",
	 "sh\n-c\nPGPASSWORD=*** psql -h db; echo done", 1},
	{"sh\n-c\ncurl 'https://h/?token=abc&x=1' | sh",
	 "sh\n-c\ncurl 'https://h/?token=***&x=1' | sh", 1},
	{"sh\n-c\nexport PASSWORD=\"two words\"; run", "sh\n-c\nexport PASSWORD=\"***\"; run", 1},
	{"psql\nhost=db password=hunter2 dbname=x", "psql\nhost=db password=*** dbname=x", 1},
	{"mount\n-o\nusername=a,password=hunter2,uid=0", "mount\n-o\nusername=a,password=***,uid=0",
	 1},
	{"curl\n-d\n{\"user\":\"a\",\"password\":\"hun\\\"ter2\",\"n\":1}",
	 "curl\n-d\n{\"user\":\"a\",\"password\":\"***\",\"n\":1}", 1},
	{"curl\n-d\n{ \"password\" : \"hunter2\" }", "curl\n-d\n{ \"password\" : \"hunter2\" }",
	 0}, /* blanks before the colon: not seen */
	{"sh\n-c\ncurl -d \"{\\\"password\\\": \\\"hunter2\\\"}\"",
	 "sh\n-c\ncurl -d \"{\\\"password\\\": \\\"***\\\"}\"", 1},
	/* addresses */
	{"git\nclone\nhttps://me:hunter2@host/x.git", "git\nclone\nhttps://me:***@host/x.git", 1},
	{"app\n--db=postgres://u:p@ss:w@db:5432/x", "app\n--db=postgres://u:***@db:5432/x", 1},
	{"app\nredis://:hunter2@cache/0", "app\nredis://:***@cache/0", 1},
	/* headers */
	{"curl\n-H\nAuthorization: Bearer abc.def", "curl\n-H\nAuthorization: Bearer ***", 1},
	{"curl\n-HAuthorization: Basic dXNlcjpwYXNz\nhttp://h/",
	 "curl\n-HAuthorization: Basic ***\nhttp://h/", 1},
	{"curl\n--header=proxy-authorization: abc def", "curl\n--header=proxy-authorization: ***",
	 1},
	{"curl\n-H\nX-Api-Key: abc\n-H\nPRIVATE-TOKEN: def\n-H\nCookie: a=b; c=d",
	 "curl\n-H\nX-Api-Key: ***\n-H\nPRIVATE-TOKEN: ***\n-H\nCookie: ***", 3},
	/* forms of tokens */
	{"git\npush\nhttps://" GITHUB "@github.com/x", "git\npush\nhttps://***@github.com/x", 1},
	{"app\n" JWT "\n-----BEGIN RSA PRIVATE KEY-----MIIE",
	 "app\n***\n-----BEGIN RSA PRIVATE KEY-----***", 2},
	/* short options of programs */
	{"mysql\n-uroot\n-phunter2\ndb", "mysql\n-uroot\n-p***\ndb", 1},
	{"/usr/bin/mysqldump\n-p123456\ndb", "/usr/bin/mysqldump\n-p***\ndb", 1},
	{"sudo\n-u\nroot\nmariadb\n-phunter2", "sudo\n-u\nroot\nmariadb\n-p***", 1},
	{"docker\nexec\n-it\nc\nmysql\n-phunter2", "docker\nexec\n-it\nc\nmysql\n-p***", 1},
	{"kubectl\nexec\npod\n--\nmysql\n-phunter2", "kubectl\nexec\npod\n--\nmysql\n-p***", 1},
	{"sh\n-c\nmysql -uroot -phunter2 db", "sh\n-c\nmysql -uroot -p*** db", 1},
	{"ssh\nhost\nmysql -uroot -phunter2 db", "ssh\nhost\nmysql -uroot -p*** db", 1},
	{"sshpass\n-p\nhunter2\nssh\n-p\n2222\nhost", "sshpass\n-p\n***\nssh\n-p\n2222\nhost", 1},
	{"sshpass\n-phunter2\nssh\n-p\n2222\nhost", "sshpass\n-p***\nssh\n-p\n2222\nhost", 1},
	{"curl\n-u\nme:hunter2\nhttp://h/", "curl\n-u\nme:***\nhttp://h/", 1},
	{"curl\n-sSu\nme:hunter2\n--proxy-user\na:b2", "curl\n-sSu\nme:***\n--proxy-user\na:***",
	 2},
	{"curl\n-ume:hunter2\nhttp://h/", "curl\n-ume:***\nhttp://h/", 1},
	{"redis-cli\n-h\ndb\n-a\nhunter2\nget\nx", "redis-cli\n-h\ndb\n-a\n***\nget\nx", 1},
	{"mongodump\n-p\nhunter2", "mongodump\n-p\n***", 1},
	{"ldapsearch\n-D\ncn=a\n-w\nhunter2", "ldapsearch\n-D\ncn=a\n-w\n***", 1},
	{"smbclient\n//h/s\n-U\nme%hunter2", "smbclient\n//h/s\n-U\nme%***", 1},
	{"openssl\nenc\n-k\nhunter2\n-pass\npass:hunter3", "openssl\nenc\n-k\n***\n-pass\n***", 2},
	{"openssl\nreq\n-passout\npass:hunter2", "openssl\nreq\n-passout\npass:***", 1},
	{"docker\nlogin\n-u\nme\n-p\nhunter2", "docker\nlogin\n-u\nme\n-p\n***", 1},
	{"7z\nx\n-phunter2\na.7z", "7z\nx\n-p***\na.7z", 1},
};

static const char *const healthy[] = {
	"",
	"\n\n",
	"ls\n-l\n/home/me/passwords",
	"grep\n-r\npassword\n/etc",
	"passwd\nroot",
	"app\n--password-file=/run/secret\n--token-ttl=5m\n--secret-name\ndb\n--password-stdin",
	"app\n--password=\n--password=$PASS\n--password=${P}\n--token=env:TOKEN\n--use-token=true",
	"app\n--no-password\ndb\n--ask-pass\nhost\n--with-token\nx\n--next-token\nabc",
	"vllm\n--max-tokens\n4096\n--tokenizer=x\n--eos-token\n</s>",
	"psql\n--password\ndb",
	"mysql\n-p\ndb\n-P3306\n--password\ndb2",
	"ffmpeg\n-pass\n1\n-i\na.mkv",
	"x264\n--pass\n2",
	"mkdir\n-p\n/var/lib/mysql",
	"docker\nrun\n-p\n80:80\n-p3306:3306\n--user\n1000:1000\n--name\nmysql\n-pv\nimage",
	"docker\nbuild\n--secret\nid=npm,src=/home/me/.npmrc",
	"sudo\n-u\nmysql\nrsync\n-pvz\na\nb",
	"ssh\n-p\n2222\n-o\nPasswordAuthentication=no\n-o\nPreferredAuthentications=password",
	"curl\n-u\nme\nhttp://localhost:8080/a@b\n-o\nx",
	"curl\nhttp://token:8080/\nhttps://h/a:b@c",
	"env\nPWD=/tmp\nOLDPWD=/\nCOMPASS=north\nBYPASS=1x\nAWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
	"pip\ninstall\nsk-learn-contrib-0.24.1-cp39.whl\nhf_transfer",
	"java\n-Dhttp.proxyHost=h\n-XX:+UseG1GC\n-cp\na.jar:b.jar",
	"openssl\nreq\n-passin\nenv:PASS\n-keyout\nfile:key",
	"openssl\nenc\n-pass\nenv:PASS\n-kfile\nx",
	"git\ncommit\n-m\nreset passwords; tokens are gone",
	"redis-server *:6379",
	"postgres: me db 10.0.0.1(5432) idle",
	"sh\n-c\nmkdir -p a && cd a; echo $PASSWORD",
	"find\n.\n-name\n*.secret\n-newer\ntoken",
	"app\n--password=***",
	"\xff\xfe\n=\n:\n-\n--\n-p\n://\n@\n\"",
};

static struct bytes argv_of(const char *lines, char *buf, size_t size)
{
	size_t len = strlen(lines);

	assert_true(len < size);
	memcpy(buf, lines, len);
	for (size_t i = 0; i < len; i++)
		buf[i] = buf[i] == '\n' ? '\0' : buf[i];
	return (struct bytes){(uint8_t *)buf, len};
}

static void hidden(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++) {
		_cleanup_buf_ struct buf to = {0};
		char buf[512];
		ssize_t n = secret_mask(argv_of(masked[i].from, buf, sizeof(buf)), &to, NULL);

		for (size_t k = 0; k < to.len; k++)
			to.data[k] = to.data[k] ? to.data[k] : '\n';
		if (n != masked[i].count || (n && strcmp(buf_str(&to), masked[i].to) != 0))
			fail_msg("%s\n-> %zd\n%s", masked[i].from, n, buf_str(&to));
	}
}

static void untouched(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(healthy); i++) {
		_cleanup_buf_ struct buf to = {0};
		char buf[512];
		ssize_t n = secret_mask(argv_of(healthy[i], buf, sizeof(buf)), &to, NULL);

		if (n || to.len)
			fail_msg("%s\n-> %zd\n%s", healthy[i], n, buf_str(&to));
	}
}

/* What was masked has nothing left to mask. */
static void once_is_enough(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++) {
		_cleanup_buf_ struct buf once = {0}, twice = {0};
		char buf[512];

		if (secret_mask(argv_of(masked[i].from, buf, sizeof(buf)), &once, NULL) <= 0)
			continue;
		assert_int_equal(secret_mask((struct bytes){once.data, once.len}, &twice, NULL), 0);
	}
}

/* Any bytes, cut anywhere, each run in a block of its own size, so that a sanitizer sees what reads behind its end. */
static void any_bytes(void **state)
{
	static const char alphabet[] = "-=:@/\"'\\ ,&p\0\0\n$uToken";
	uint64_t x = 1;

	for (size_t i = 0; i < 20000; i++) {
		size_t len = i % 48;
		_cleanup_free_ char *text = malloc(len ? len : 1);
		_cleanup_buf_ struct buf to = {0};

		for (size_t k = 0; k < len; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			text[k] = alphabet[(x >> 33) % (sizeof(alphabet) - 1)];
		}
		assert_true(secret_mask((struct bytes){(uint8_t *)text, len}, &to, NULL) >= 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++) {
		char buf[512];
		struct bytes all = argv_of(masked[i].from, buf, sizeof(buf));

		for (size_t len = 0; len < all.len; len++) {
			_cleanup_free_ uint8_t *cut = malloc(len ? len : 1);
			_cleanup_buf_ struct buf to = {0};

			memcpy(cut, all.data, len);
			assert_true(secret_mask((struct bytes){cut, len}, &to, NULL) >= 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden),
		cmocka_unit_test(untouched),
		cmocka_unit_test(once_is_enough),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
