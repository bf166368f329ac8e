"""More secrets and look-alikes, invented after the rules were written; docs/pipeline.md has the first figure."""

from __future__ import annotations

from random import Random

from tests.core.text.secret_samples import (
    DIGITS,
    HEX,
    TEXTS,
    Sample,
    account,
    base64ish,
    card,
    chars,
    digits,
    grouped,
    resident_id,
)

_r = Random("unseen")


def _s(text: str, value: str, language: str = "en") -> Sample:
    return Sample(text.format(value), "unseen", language, value)


UNSEEN_SECRETS = [
    _s("btw the login for the tv is mei@x.org with password {}", "Popcorn77"),
    _s("my passcode: {} don't tell Tom", "220931"),
    _s("The password for my laptop used to be easy, now it is {}", "Zx9!kappa"),
    _s("Remember: Netflix pw {}", "bluewhale22"),
    _s("pw: {}", "bluewhale22"),
    _s("PASS={}", "bluewhale22"),
    _s("SMTP_PASS='{}'", "q8Zr!t2"),
    _s("Guest wifi is HomeNet, password {}.", "coffee4all"),
    _s("user admin / pass {}", "Adm1n#2"),
    _s("passphrase is {}", "correct-horse-battery-staple"),
    _s("- **Password:** {}", "Tr0ub4dor&3"),
    _s("Password → {}", "Tr0ub4dor&3"),
    _s('{{"username": "mei", "password": "{}"}}', "s3cretpw"),
    _s("<password>{}</password>", "s3cretpw"),
    _s("--password {} --host db1", "s3cretpw9"),
    _s("mysql -u root -p{} shop", "s3cretpw9"),
    _s("curl -u mei:{} https://api.test", "s3cretpw9"),
    _s("the door code is {}", "4471"),
    _s("alarm code {} for the holiday house", "8812"),
    _s("my sim PIN's {}", "6630"),
    _s("Use PIN {} at the gate", "7714"),
    _s("Your Google code: {}", "G-482913"),
    _s("Apple: your security code is {}. Don't share it.", "739201"),
    _s("2FA code {} now", "551204"),
    _s("the otp i got was {}", "009182"),
    _s("here's my card {}, expires 12/28", grouped(card(_r, "4", 16))),
    _s("Amex {}", grouped(card(_r, "34", 15))),
    _s("charge {} cvv 123", card(_r, "2221", 16)),
    _s("security code on the back: {}", "812"),
    _s("my account at Chase: routing {}", digits(_r, 9)),
    _s("acct # {} at Wells Fargo", digits(_r, 10)),
    _s("sort code 20-11-43 account {}", digits(_r, 8)),
    _s("SSN {}", digits(_r, 9)),
    _s("my social is {}", "219-09-" + digits(_r, 4)),
    _s("driver license {}", "D" + digits(_r, 7)),
    _s("Aadhaar {}", grouped(digits(_r, 12))),
    _s("my NHS number is {}", "943 476 " + digits(_r, 4)),
    _s("Bearer {}", chars(_r, 40)),
    _s("Cookie: sessionid={}", chars(_r, 32, "abcdefghijklmnopqrstuvwxyz" + DIGITS)),
    _s("my OpenRouter key {}", "s" + "k-or-v1-" + chars(_r, 64, HEX)),
    _s("DeepSeek: {}", "s" + "k-" + chars(_r, 32, HEX)),
    _s("AccountKey={};EndpointSuffix=core", base64ish(_r, 64) + "=="),
    _s("notion {}", "nt" + "n_" + chars(_r, 46)),
    _s("Here's my ethereum private key {}", "0x" + chars(_r, 64, HEX)),
    _s("encryption key = {}", chars(_r, 64, HEX)),
    _s("supabase service key: {}", "sb" + "p_" + chars(_r, 40, HEX)),
    _s("家里wifi密码{}，来了可以连", "88776655", "zh"),
    _s("密码还是原来那个 {}", "Abc@2020", "zh"),
    _s("账号 admin 密码 {}", "admin888", "zh"),
    _s("帮我记一下支付宝登录密码：{}", "Lxm19900101", "zh"),
    _s("解压密码:{}", "www.site.cc1", "zh"),
    _s("保险柜密码是{}", "0319", "zh"),
    _s("门禁密码 {}#", "2580", "zh"),
    _s("银行卡的取款密码为{}", "135790", "zh"),
    _s("验证码 {}，别告诉别人", "604417", "zh"),
    _s("招行卡 {} 是我的工资卡", grouped(card(_r, "6214", 16)), "zh"),
    _s("开户行工行，账号{}", "62" + digits(_r, 17), "zh"),
    _s("我身份证{}", resident_id(_r), "zh"),
    _s("护照 {}，明年到期", "E" + digits(_r, 8), "zh"),
    _s("德国账户 {}", account(_r, "DE"), "zh"),
]

UNSEEN_HARMLESS = [
    Sample(text, "unseen", "zh" if any("\u4e00" <= one <= "\u9fff" for one in text) else "en")
    for text in [*TEXTS["unseen"], "docker pull redis@sha256:" + chars(_r, 64, HEX)]
]
