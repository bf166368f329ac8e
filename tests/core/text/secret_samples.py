"""Secrets of many kinds and what looks like them, made from seeds: no value stands here as it is.

Prefixes are joined from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric

LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
MIXED = LETTERS + DIGITS


@dataclass(frozen=True)
class Sample:
    """A text. `value`: the secret in it, "" for a harmless one; `kind`: of the sample, not of the detection."""

    text: str
    kind: str
    language: str
    value: str = ""


def chars(random: Random, count: int, alphabet: str = MIXED) -> str:
    """Return so many characters, two of which are digits where the alphabet has any."""
    found = [random.choice(alphabet) for _ in range(count)]
    if set(DIGITS) <= set(alphabet) and count > 8:
        found[count // 3], found[count // 2] = random.choice(DIGITS), random.choice(DIGITS)
        found[count // 4], found[1] = random.choice(sorted(set(alphabet) - set(DIGITS)) or DIGITS), found[1]
    return "".join(found)


def digits(random: Random, count: int) -> str:
    return random.choice("123456789") + "".join(random.choice(DIGITS) for _ in range(count - 1))


def card(random: Random, prefix: str, length: int) -> str:
    body = prefix + "".join(random.choice(DIGITS) for _ in range(length - len(prefix) - 1))
    return body + str(luhn.calc_check_digit(body))


def grouped(number: str, sign: str = " ", size: int = 4) -> str:
    return sign.join(number[at : at + size] for at in range(0, len(number), size))


def resident_id(random: Random) -> str:
    day = f"{random.randint(1955, 2007)}{random.randint(1, 12):02}{random.randint(1, 28):02}"
    body = random.choice(["110105", "310101", "440106", "320582", "510107"]) + day + f"{random.randint(1, 999):03}"
    return body + ric.calc_check_digit(body + "0")


def account(random: Random, country: str) -> str:
    body = {"GB": "NWBK" + digits(random, 14), "DE": digits(random, 18), "NL": "ABNA" + digits(random, 10)}[country]
    return country + iban.calc_check_digits(country + "00" + body) + body


def base64ish(random: Random, count: int) -> str:
    return base64.b64encode(random.randbytes(count)).decode().rstrip("=")


def jwt(random: Random) -> str:
    head, body = ("e" + "yJ" + base64ish(random, 18 + 3 * at).replace("/", "_").replace("+", "-") for at in range(2))
    return f"{head}.{body}.{base64ish(random, 32).replace('/', '_').replace('+', '-')}"


def pem(random: Random) -> str:
    lines = "\n".join(base64ish(random, 45)[:60] for _ in range(4))
    return f"-----BEGIN {'RSA '}PRIVATE{' '}KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


def password(random: Random) -> str:
    word = random.choice(["hunter", "dragon", "Sommer", "Mondlicht", "qwe", "Yueliang", "tiger"])
    return word + digits(random, random.randint(1, 4)) + random.choice(["", "!", "#", "@x"])


WORDS = [
    "ocean",
    "tiger",
    "maple",
    "silent",
    "river",
    "orbit",
    "candle",
    "velvet",
    "rocket",
    "lemon",
    "winter",
    "garden",
    "puzzle",
    "magnet",
    "forest",
    "pepper",
]

# By kind: how the value is made, and texts in English and Chinese around it.
EN_KEY = ("My key is {}", "use {} for the calls please", "export API_KEY={}")
ZH_KEY = ("我的密钥是{}，记一下", "这个 {} 帮我存着", "接口用的是：{}")
SECRETS: dict[str, tuple[Callable[[Random], str], tuple[str, ...], tuple[str, ...]]] = {
    "openai": (lambda r: "s" + "k-proj-" + chars(r, 48), EN_KEY, ZH_KEY),
    "openai_old": (lambda r: "s" + "k-" + chars(r, 48), EN_KEY, ZH_KEY),
    "anthropic": (lambda r: "s" + "k-ant-api03-" + chars(r, 90), EN_KEY, ZH_KEY),
    "aws_id": (lambda r: "AK" + "IA" + chars(r, 16, string.ascii_uppercase + "234567"), EN_KEY, ZH_KEY),
    "aws_secret": (
        lambda r: base64ish(r, 30),
        ("AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key = {}", "the secret access key is {}"),
        ("AWS 的 secret access key: {}", "访问密钥是 {}", "密钥：{}"),
    ),
    "google": (lambda r: "AI" + "za" + chars(r, 35), EN_KEY, ZH_KEY),
    "stripe": (lambda r: "s" + "k_live_" + chars(r, 24), EN_KEY, ZH_KEY),
    "sendgrid": (lambda r: "S" + "G." + chars(r, 22) + "." + chars(r, 43), EN_KEY, ZH_KEY),
    "aliyun": (lambda r: "LT" + "AI5t" + chars(r, 20), EN_KEY, ZH_KEY),
    "tencent": (lambda r: "AK" + "ID" + chars(r, 32), EN_KEY, ZH_KEY),
    "groq": (lambda r: "gs" + "k_" + chars(r, 52), EN_KEY, ZH_KEY),
    "github": (lambda r: "gh" + "p_" + chars(r, 36), EN_KEY, ZH_KEY),
    "github_new": (lambda r: "github_" + "pat_" + chars(r, 22) + "_" + chars(r, 59), EN_KEY, ZH_KEY),
    "gitlab": (lambda r: "gl" + "pat-" + chars(r, 20), EN_KEY, ZH_KEY),
    "slack": (lambda r: "xo" + "xb-" + digits(r, 12) + "-" + digits(r, 12) + "-" + chars(r, 24), EN_KEY, ZH_KEY),
    "huggingface": (lambda r: "h" + "f_" + chars(r, 34), EN_KEY, ZH_KEY),
    "npm": (lambda r: "np" + "m_" + chars(r, 36), EN_KEY, ZH_KEY),
    "telegram": (
        lambda r: digits(r, 10) + ":A" + "A" + chars(r, 33),
        ("bot: {}", "The bot runs as {}"),
        ("机器人 {} 已上线",),
    ),
    "jwt": (jwt, ("Authorization: Bearer {}", "the session is {}"), ("登录后拿到 {}", "令牌：{}")),
    "webhook": (
        lambda r: "https://hooks." + "slack.com/services/T" + chars(r, 8) + "/B" + chars(r, 8) + "/" + chars(r, 24),
        ("Post to {} when done",),
        ("完成后发到 {}",),
    ),
    "named_key": (
        lambda r: chars(r, 32, HEX),
        ("api key: {}", "The API key is {}", 'client_secret="{}"', "X-Api-Key: {}"),
        ("API key 是 {}", "API密钥：{}", "appsecret={}", "令牌是 {}"),
    ),
    "private_key": (pem, ("Here it is:\n{}",), ("私钥如下：\n{}",)),
    "database_url": (
        lambda r: password(r) + chars(r, 4),
        ("DATABASE_URL=postgres://app:{}@db.internal:5432/app", "mysql://root:{}@10.0.0.5/shop"),
        ("数据库连接 redis://default:{}@cache:6379/0",),
    ),
    "password": (
        password,
        (
            "my password is {}",
            "Remember that the password for the router is {}.",
            "password={}",
            "DB_PASSWORD: {}",
            'The wifi password: "{}"',
            "log in as mei, password {!r}",
            "I use {} as my password",
        ),
        (
            "密码是 {}",
            "我的邮箱密码是{}，帮我记住",
            "密码：{}",
            "公司WiFi的密码改成了{}",
            "root 口令为 {}",
            "password是{}",
            "{}是我的密码",
        ),
    ),
    "plain_password": (
        lambda r: r.choice(["swordfish", "butterfly", "letmein", "opensesame", "mrwhiskers"]),
        ("my password is {}.", "The Netflix password is {}", "password={}"),
        ("密码是{}。", "口令：{}"),
    ),
    "pin": (
        lambda r: digits(r, 4),
        ("My PIN is {}", "the PIN for my bank card is {}", "PIN: {}"),
        ("PIN码是{}", "取款密码是{}", "我手机的锁屏密码是 {}"),
    ),
    "one_time_code": (
        lambda r: digits(r, 6),
        ("Your verification code is {}.", "{} is your login code", "OTP: {}"),
        ("验证码是{}", "【银行】您的验证码：{}，5分钟内有效", "短信说 {} 为您的验证码"),
    ),
    "card": (
        lambda r: r.choice(
            [
                card(r, "4", 16),
                grouped(card(r, "5" + r.choice("12345"), 16)),
                grouped(card(r, "4", 16), "-"),
                card(r, "37", 15),
            ]
        ),
        ("Pay with {} please", "My Visa is {}, exp 04/29", "{}"),
        ("用{}付款", "我的信用卡 {} 有效期 04/29"),
    ),
    "bank_card": (
        lambda r: r.choice([card(r, "62" + digits(r, 4), 19), grouped(card(r, "6228", 19)), card(r, "6217", 16)]),
        ("UnionPay {}", "send it to {}"),
        ("卡号{}", "转到 {} 张三", "工资卡：{}"),
    ),
    "cvv": (lambda r: digits(r, 3), ("CVV {}", "the CVC is {}"), ("安全码是{}",)),
    "iban": (
        lambda r: r.choice([account(r, "GB"), grouped(account(r, "DE")), account(r, "NL")]),
        ("My IBAN is {}", "transfer it to {} by Friday"),
        ("汇款到 {}", "IBAN：{}"),
    ),
    "account": (
        lambda r: digits(r, 10),
        ("my bank account number is {}", "Account no. {} at HSBC", "routing number: {}"),
        ("银行账号：{}", "收款账户是{}"),
    ),
    "resident_id": (
        resident_id,
        ("My Chinese ID is {}", "{} is on the form"),
        ("身份证号{}", "我的身份证是 {}", "证件号码：{}", "{}，实名用的"),
    ),
    "ssn": (
        lambda r: f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}",
        ("My SSN is {}", "Social Security number: {}", "{} for the W-2"),
        ("美国社保号 {}",),
    ),
    "passport": (
        lambda r: r.choice("EGPX") + digits(r, 8),
        ("passport number {}", "My passport is {}", "Passport no.: {}"),
        ("护照号 {}", "护照号码是{}"),
    ),
    "cpf": (
        lambda r: cpf.format((lambda b: b + cpf._calc_check_digits(b))(digits(r, 9))),
        ("CPF {}", "he sent {}"),
        ("巴西税号 {}",),
    ),
    "other_identity": (
        lambda r: digits(r, 9),
        ("driver's license number: {}", "national insurance number is AB{}", "tax id {}"),
        ("驾驶证号：{}", "社保号是{}"),
    ),
    "recovery_phrase": (
        lambda r: " ".join(r.choice(WORDS) for _ in range(12)),
        ("seed phrase: {}", "My recovery phrase is {}"),
        ("助记词：{}",),
    ),
}


def _full_width(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if sign.isdigit() else sign for sign in text)


def make_secrets() -> Iterator[Sample]:
    """Yield each kind with each of its texts, at least six in all, and some of them disguised."""
    for kind, (make, english, chinese) in SECRETS.items():
        random = Random(f"secret {kind}")
        texts = [("en", text) for text in english] + [("zh", text) for text in chinese]
        for number in range(max(6, len(texts))):
            language, text = texts[number % len(texts)]
            value = make(random)
            yield Sample(text.format(value), kind, language, value)
    random = Random("disguised")
    for _number in range(4):
        plain = card(random, "4", 16)
        yield Sample(f"卡号 {_full_width(plain)}", "full_width", "zh", _full_width(plain))
        hidden = "\u200b".join(grouped(plain, "|").split("|"))
        yield Sample(f"card {hidden} thanks", "zero_width", "en", hidden)
        wide = _full_width(resident_id(random))
        yield Sample(f"身份证：{wide}", "full_width", "zh", wide)
        plain = "gh" + "p_" + chars(random, 36)
        yield Sample(
            f"把 {plain[:9]}\u200d{plain[9:]} 记下来，for CI", "zero_width", "zh", f"{plain[:9]}\u200d{plain[9:]}"
        )


def _not_luhn(random: Random, prefix: str) -> str:
    number = card(random, prefix, 16)
    return number[:-1] + str((int(number[-1]) + random.randint(1, 9)) % 10)


def _uuid(r: Random) -> str:
    return "-".join(chars(r, size, HEX) for size in (8, 4, 4, 4, 12))


HARMLESS: dict[str, tuple[Callable[[Random], str], tuple[str, ...], tuple[str, ...]]] = {
    "talk_of_passwords": (
        lambda r: "",
        (
            "I forgot my password",
            "the password must have 12 characters",
            "My password is too long to remember.",
            "Please reset the password and tell me when it is done.",
            "What is the password policy?",
            "The password is stored in the vault.",
            "my password was stolen last week",
            "Is your password strong?",
            "Passwords are hashed with bcrypt",
            "Password: required, at least 8 characters",
            "password: string;",
            "password=os.environ['DB_PASSWORD']",
            "password = getpass()",
            "PASSWORD=${DB_PASSWORD}",
            "password: ********",
            "The password is wrong, try again",
            "Use a password manager such as Bitwarden.",
            "if (password === undefined) return",
            "password=your_password_here",
            "The new password is longer than 20 characters.",
        ),
        (
            "我忘记密码了",
            "密码至少要12位",
            "密码是什么？",
            "密码错误，请重试",
            "怎么修改密码？",
            "密码是用 bcrypt 加密的",
            "密码长度是8位以上",
            "我的密码太长了，总记不住",
            "密码不能和用户名相同",
            "他把密码改了，没告诉我",
            "密码是8-16位字母和数字",
            "密码：必填",
            "这本小说叫《达芬奇密码》",
            "密码学的作业明天交",
            "口令太弱会被拒绝",
        ),
    ),
    "talk_of_keys": (
        lambda r: "",
        (
            "Where do I find my API key?",
            "The token expires in 3600 seconds",
            "max_tokens: 4096",
            "The key is under the mat",
            "const token = await getToken()",
            "Set OPENAI_API_KEY in the environment",
            "api_key=YOUR_API_KEY",
            "token: req.headers.authorization",
            "My secret is that I love musicals",
            "The primary key is user_id_2024",
            "api_key = settings.OPENAI_API_KEY",
            "The PIN must have four digits",
            "My verification code never arrived",
            "The access token lasts 24 hours and 30 minutes",
            "Keyboard: press F5, key code 116",
        ),
        (
            "API 密钥在哪里申请？",
            "token 用完了，要充值",
            "验证码一直收不到",
            "验证码5分钟内有效",
            "上下文有 128000 个 token",
            "钥匙放在门垫下面",
            "密钥管理用 KMS",
            "PIN码要4位数字",
            "令牌桶算法每秒放 1000 个令牌",
            "关键是 2024 年的数据",
        ),
    ),
    "phone": (
        lambda r: "1" + r.choice("35789") + digits(r, 9),
        ("Call me at +86 {}", "phone {}", "My number is {}"),
        ("我的手机号是{}", "电话：{}", "打{}找他"),
    ),
    "phone_abroad": (lambda r: f"+44 20 {digits(r, 4)} {digits(r, 4)}", ("Call {}",), ("伦敦办公室 {}",)),
    "us_phone": (
        lambda r: f"({digits(r, 3)}) {digits(r, 3)}-{digits(r, 4)}",
        ("Call {}", "My cell: {}"),
        ("美国号码 {}",),
    ),
    "email": (
        lambda r: f"{chars(r, 8, string.ascii_lowercase)}{digits(r, 4)}@example.com",
        ("Write to {}",),
        ("邮箱是 {}",),
    ),
    "order": (
        lambda r: r.choice([digits(r, 16), digits(r, 18), card(r, "4", 16), card(r, "62", 19)]),
        ("Order {} has shipped", "order number: {}"),
        ("订单号：{}", "订单 {} 已发货"),
    ),
    "tracking": (
        lambda r: r.choice(["SF" + digits(r, 13), "1Z" + chars(r, 16, string.ascii_uppercase + DIGITS), digits(r, 12)]),
        ("Tracking {}",),
        ("顺丰单号 {}", "快递 {}"),
    ),
    "hash": (lambda r: chars(r, 40, HEX), ("commit {}", "Fixed in {}", "sha1 {}"), ("提交是 {}", "回滚到 {}")),
    "sha256": (lambda r: chars(r, 64, HEX), ("sha256:{}", "checksum {}"), ("校验和 {}",)),
    "uuid": (_uuid, ("session {}", "The id is {}"), ("会话 {}", "编号是 {}")),
    "isbn": (
        lambda r: f"978-{digits(r, 1)}-{digits(r, 3)}-{digits(r, 5)}-{digits(r, 1)}",
        ("ISBN {}", "I read {}"),
        ("书号 {}",),
    ),
    "ean": (lambda r: "978" + digits(r, 10), ("The barcode says {}",), ("条码 {}",)),
    "image": (lambda r: "data:image/png;base64," + "iVBORw0KGgo" + base64ish(r, 120), ("![logo]({})",), ("图片：{}",)),
    "colour": (lambda r: "#" + chars(r, 6, HEX), ("color: {};", "Paint it {}"), ("主色用 {}",)),
    "coordinates": (lambda r: f"{r.uniform(-80, 80):.7f}, {r.uniform(-170, 170):.7f}", ("We met at {}",), ("坐标 {}",)),
    "model": (
        lambda r: r.choice(
            ["gpt-4o-mini-2024-07-18", "claude-3-5-sonnet-20241022", "qwen2.5-72b-instruct", "llama-3.3-70b"]
        ),
        ("I use {}", "model: {}"),
        ("模型是 {}",),
    ),
    "version": (
        lambda r: f"{r.randint(1, 9)}.{r.randint(0, 30)}.{r.randint(0, 999)}-rc.{r.randint(1, 9)}",
        ("version {}", "Python {}"),
        ("升级到 {}",),
    ),
    "date": (
        lambda r: (
            f"20{r.randint(10, 30)}-{r.randint(1, 12):02}-{r.randint(1, 28):02} {r.randint(10, 23)}:{r.randint(10, 59)}"
        ),
        ("born {}", "Due {}"),
        ("截止 {}",),
    ),
    "timestamp": (lambda r: "17" + digits(r, 11), ("at {}", "ts={}"), ("时间戳 {}",)),
    "address": (
        lambda r: f"{r.randint(1, 999)} Elm Street, Springfield, IL {digits(r, 5)}",
        ("I live at {}",),
        ("他住在 {}",),
    ),
    "amount": (
        lambda r: f"{r.randint(1, 999)},{r.randint(100, 999)},{r.randint(100, 999)}.00",
        ("The house cost {}",),
        ("首付 {} 元",),
    ),
    "ip": (lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)) + ":8080", ("ssh to {}",), ("服务器是 {}",)),
    "url": (
        lambda r: f"https://example.com/{chars(r, 8, string.ascii_lowercase)}/{digits(r, 12)}?ref={chars(r, 10)}",
        ("See {}",),
        ("链接 {}",),
    ),
    "not_luhn": (lambda r: grouped(_not_luhn(r, "4")), ("The serial is {}", "{} widgets"), ("编号 {}",)),
    "flight": (
        lambda r: r.choice(["MU", "BA", "CA"]) + digits(r, 4),
        ("I fly {} on Friday", "Booking {}"),
        ("航班 {}",),
    ),
    "plate": (lambda r: "京A" + chars(r, 5, string.ascii_uppercase + DIGITS), ("The car is {}",), ("车牌 {}",)),
    "social": (lambda r: digits(r, 9), ("My QQ is {}",), ("QQ号 {}", "微信号 wx{}")),
    "code": (
        lambda r: chars(r, 6, string.ascii_lowercase),
        ("def {}(password: str) -> bool:", "token_count = {}(text)", "SELECT password_hash FROM {}"),
        ("函数 {} 的参数是 password 和 token", "把 {} 里的 secret_name 改掉"),
    ),
    "place_code": (lambda r: digits(r, 6), ("zip code {}", "error code {}", "area code {}"), ("邮编 {}", "错误码 {}")),
    "company": (
        lambda r: "sk-learn-" + chars(r, 12, string.ascii_lowercase) + "-toolkit",
        ("pip install {}",),
        ("装一下 {}",),
    ),
    "everyday": (
        lambda r: str(r.randint(2, 90)),
        (
            "I have {} cousins in Leeds",
            "Chapter {} of the book is my favourite",
            "Bus {} stops at the bank",
            "I carded {} kg of wool",
        ),
        ("我有{}个学生", "{}路公交到银行门口", "今年{}岁", "办卡要等{}天"),
    ),
}


def make_harmless() -> Iterator[Sample]:
    """Yield at least twelve texts of each kind; those that need no value once each."""
    for kind, (make, english, chinese) in HARMLESS.items():
        random = Random(f"harmless {kind}")
        texts = [("en", text) for text in english] + [("zh", text) for text in chinese]
        count = len(texts) if not make(Random(0)) else 12
        for number in range(count):
            language, text = texts[number % len(texts)]
            value = make(random)
            yield Sample(text.replace("{}", value) if value else text, kind, language)
