"""How the first person is told in the third, and what is quoted instead."""

from __future__ import annotations

import time

import pytest

from apps.core.llm.offline.third_person import tell_in_third_person

ENGLISH = """
I wanna go to Paris. > The user wants to go to Paris.
I'm gonna quit my job. > The user is going to quit the user's job.
I gonna quit. > The user is going to quit.
I gotta work tomorrow. > The user has to work tomorrow.
I've gotta go to work. > The user has got to go to work.
I don't wanna move. > The user doesn't want to move.
I dunno the address. > The user doesn't know the address.
I sat down and ran home. > The user sat down and ran home.
I really felt sick. > The user really felt sick.
I need glasses. > The user needs glasses.
I bring my own lunch. > The user brings the user's own lunch.
I sing in a choir. > The user sings in a choir.
I rely on my bike. > The user relies on the user's bike.
I fly kites. > The user flies kites.
I strongly believe in luck. > The user strongly believes in luck.
I teach maths. > The user teaches maths.
I miss home. > The user misses home.
I fix bikes. > The user fixes bikes.
I go fishing. > The user goes fishing.
I do yoga. > The user does yoga.
I study law. > The user studies law.
I play chess. > The user plays chess.
I focus on maths. > The user focuses on maths.
I read every night. > The user reads every night.
I read two novels last week. > The user read two novels last week.
I put the keys there. > The user put the keys there.
I no longer smoke. > The user no longer smokes.
I still live here. > The user still lives here.
I landed and have signed a lease. > The user landed and has signed a lease.
When I last called, she slept. > When the user last called, she slept.
I first moved here in May. > The user first moved here in May.
I landed and am tired. > The user landed and is tired.
My mum came and I have to help her. > The user's mum came and the user has to help her.
I took a flat with, dare I say it, a bath. > The user took a flat with a bath.
I can't swim. > The user can't swim.
I should sleep more. > The user should sleep more.
I used to ski. > The user used to ski.
I must not eat nuts. > The user must not eat nuts.
I have never flown. > The user has never flown.
I haven't eaten. > The user hasn't eaten.
I wasn't there. > The user wasn't there.
We weren't there. > The user wasn't there.
I'm not a doctor. > The user is not a doctor.
I do not drive. > The user does not drive.
i dont drive > The user doesn't drive
im a nurse > The user is a nurse
I've bought a tent. > The user has bought a tent.
I'd been ill. > The user had been ill.
I'd already moved. > The user had already moved.
I'd better rest. > The user had better rest.
I'd love a dog. > The user would love a dog.
I'll start in May. > The user will start in May.
We've moved. > The user has moved.
We're getting married. > The user is getting married.
Since I was a kid, I've loved trains. > Since the user was a kid, the user has loved trains.
I moved because I was lonely. > The user moved because the user was lonely.
I cook when I have time. > The user cooks when the user has time.
I was ten when I left. > The user was ten when the user left.
I live in Rome and work at a bank. > The user lives in Rome and works at a bank.
I find it hard and feel sad. > The user finds it hard and feels sad.
He's older than I am. > He's older than the user is.
I am tired and don't sleep. > The user is tired and doesn't sleep.
I want to cook and have a party. > The user wants to cook and have a party.
I have friends who live here and work with me. > The user has friends who live here and work with the user.
Me and my wife went to Spain. > The user and the user's wife went to Spain.
My wife and I are vegan. > The user's wife and the user are vegan.
My sister and I live together. > The user's sister and the user live together.
I taught myself guitar. > The user taught themself guitar.
A friend of mine paints. > A friend of the user's paints.
My father worked in a coal mine. > The user's father worked in a coal mine.
I moved to the US with my wife. > The user moved to the US with the user's wife.
My son hit me. > The user's son hit the user.
I watched My Fair Lady twice. > The user watched My Fair Lady twice.
I sang "My Way" at the wedding. > The user sang "My Way" at the wedding.
I'm late again, aren't I? > The user is late again
My brother is taller than me, isn't he? > The user's brother is taller than the user
I study World War I. > The user studies World War I.
I like herbs, i.e. mint. > The user likes herbs, i.e. mint.
I live near I-95. > The user lives near I-95.
We both work. > The user said: "We both work."
I, a nurse, live here. > The user said: "I, a nurse, live here."
Never have I seen snow. > The user said: "Never have I seen snow."
Most of us live in Rome. > The user said: "Most of us live in Rome."
I eat, sleep and work. > The user said: "I eat, sleep and work."
I need rest and sleep. > The user said: "I need rest and sleep."
I ain't moving. > The user said: "I ain't moving."
"""
CHINESE = """
我住在北京。 > 用户住在北京。
我们搬家了。 > 用户搬家了。
咱家养了狗。 > 用户家养了狗。
俺是山东人。 > 用户是山东人。
本人是护士。 > 用户是护士。
我妈妈是医生。 > 用户妈妈是医生。
我的车是红色的。 > 用户的车是红色的。
我不喝酒。 > 用户不喝酒。
他送了我一本书。 > 他送了用户一本书。
我老公说“我爱你”。 > 用户老公说“我爱你”。
我看了《我的前半生》。 > 用户看了《我的前半生》。
我想唱「我和你」。 > 用户想唱「我和你」。
我喜欢自我介绍。 > 用户喜欢自我介绍。
我忘我地工作。 > 用户忘我地工作。
我国有很多湖。 > 用户提到：我国有很多湖。
对了，我怀孕了。 > 用户怀孕了。
嗯，我在学法语。 > 用户在学法语。
其实我怕狗。 > 用户怕狗。
戒烟了。 > 用户戒烟了。
在杭州工作。 > 用户在杭州工作。
对虾过敏。 > 用户对虾过敏。
上周搬到了上海。 > 用户上周搬到了上海。
猫病了。 > 用户提到：猫病了。
我用 iPhone 拍照。 > 用户用 iPhone 拍照。
我和姐姐住一起。 > 用户和姐姐住一起。
我给我爸买了表。 > 用户给用户爸买了表。
因为我怕冷，所以我搬去了海南。 > 因为用户怕冷，所以用户搬去了海南。
我小时候，我爸常带我钓鱼。 > 用户小时候，用户爸常带用户钓鱼。
我们都喜欢猫。 > 用户说：“我们都喜欢猫。”
我们俩结婚了。 > 用户说：“我们俩结婚了。”
咱俩一起住。 > 用户说：“咱俩一起住。”
我们三个是同学。 > 用户说：“我们三个是同学。”
我们俩在看“老友记”。 > 用户说：“我们俩在看‘老友记’。”
"""
PASTS = """arose awoke became began bent bit bled blew broke bred brought built bought caught chose clung came
crept dealt dug drew drank drove ate fell fed felt fought found fled flew forgot forgave froze got gave went
grew hung heard hid held kept knew laid led left lent lost made meant met paid rode rang rose ran said saw
sought sold sent shook shone shot shrank sang sank sat slept slid spoke sped spent spun stood stole stuck stung
struck swore swept swam swung took taught tore told thought threw understood woke wore won wrote moved tried
stopped"""


def _rows(table: str) -> list[tuple[str, str]]:
    return [(text, told) for text, _, told in (line.partition(" > ") for line in table.strip().splitlines())]


@pytest.mark.spec("A2")
@pytest.mark.parametrize(("text", "told"), _rows(ENGLISH))
def test_english(text: str, told: str) -> None:
    assert tell_in_third_person(text, language="en") == told


@pytest.mark.spec("A2")
@pytest.mark.parametrize(("text", "told"), _rows(CHINESE))
def test_chinese(text: str, told: str) -> None:
    assert tell_in_third_person(text, language="zh") == told


@pytest.mark.parametrize("past", PASTS.split())
def test_a_past_form_takes_no_ending(past: str) -> None:
    assert tell_in_third_person(f"I {past} it.", language="en") == f"The user {past} it."


def test_a_sentence_takes_less_than_a_millisecond() -> None:
    sentences = [text for text, _ in _rows(ENGLISH)]
    tell_in_third_person(sentences[0], language="en")
    started = time.process_time()
    for text in sentences:
        tell_in_third_person(text, language="en")
    assert (time.process_time() - started) / len(sentences) < 0.001


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["从", "从小", "今天从", "从就", "就", "I ", "I really ", "my "])
def test_no_text_takes_long(unit: str) -> None:
    text = unit * 600
    assert tell_in_third_person(text, language="zh").startswith(("用户", "The user"))


def test_whose_predicate_begins_with_from_is_the_users() -> None:
    assert tell_in_third_person("今天从小镇搬到从化了。", language="zh") == "用户今天从小镇搬到从化了。"
    assert tell_in_third_person("从小就从不从众，也会画画。", language="zh") == "用户从小就从不从众，也会画画。"
    assert tell_in_third_person("从从容容。", language="zh") == "用户提到：从从容容。"
