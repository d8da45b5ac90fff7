"""Clocks whose figures are words, or that name the part of the day beside the time, in any
language; what counts or is ruled in such words is none."""

import pytest

from hitpath.doctor.leaf import leaf_changes

SPELT = [
    ("It is eleven o'clock.", "It is twelve o'clock."),
    ("It is half past ten.", "It is half past eleven."),
    ("Today is March tenth.", "Today is March eleventh."),
    ("Today is March twenty-first.", "Today is March twenty-second."),
    ("Current hour: eleven", "Current hour: twelve"),
    ("Es ist elf Uhr.", "Es ist zwölf Uhr."),
    ("Heute ist der zehnte März.", "Heute ist der elfte März."),
    ("Son las once.", "Son las doce."),
    ("Son las 24.", "Son las 12."),
    ("Il est onze heures.", "Il est douze heures."),
    ("Сейчас одиннадцать часов", "Сейчас двенадцать часов"),
    ("今天是星期二。", "今天是星期三。"),
    ("今天是三月十日", "今天是三月十一日"),
    ("今天是3月10日", "今天是3月11日"),
    ("现在是十一点。", "现在是十二点。"),
    ("今は十一時です", "今は十二時です"),
    ("今日は火曜日です", "今日は水曜日です"),
    ("오늘은 화요일입니다", "오늘은 수요일입니다"),
    ("지금은 열한 시입니다", "지금은 열두 시입니다"),
]
PARTS_OF_A_DAY = [
    ("समय: सुबह 11:55", "समय: शाम 12:07"),
    ("It is 10:15 in the morning.", "It is 8:15 in the evening."),
    ("Es ist 10:15 Uhr morgens.", "Es ist 8:15 Uhr abends."),
    ("Il est 10h15 du matin.", "Il est 8h15 du soir."),
    ("Son las 10:15 de la mañana", "Son las 8:15 de la noche"),
    ("Сейчас 10:15 утра", "Сейчас 8:15 вечера"),
    ("Saat sabah 10:15", "Saat akşam 8:15"),
    ("Bây giờ là 10:15 sáng", "Bây giờ là 8:15 tối"),
    ("ساعت 10:15 صبح", "ساعت 08:15 شب"),
    ("সময়: সকাল 10:15", "সময়: সন্ধ্যা 08:15"),
    ("நேரம்: காலை 10:15", "நேரம்: மாலை 06:15"),
    ("Saa 4:15 asubuhi", "Saa 2:15 usiku"),
]
OTHERS = [
    ("现在是第四回合", "现在是第五回合"),
    ("二回目の質問", "三回目の質問"),
    ("User in 三号楼", "User in 四号楼"),
    ("请遵守以下三点：", "请遵守以下四点："),
    ("Turn three of ten", "Turn four of ten"),
    ("Offer two dates", "Offer three dates"),
    ("Wait two hours.", "Wait three hours."),
    ("Il reste 11 heures", "Il reste 12 heures"),
    ("Table for seven.", "Table for eight."),
    ("Son las 25.", "Son las 12."),
    ("Send it in the morning post", "Send it in the evening post"),
]


@pytest.mark.parametrize(("old", "new"), SPELT + PARTS_OF_A_DAY)
def test_a_time_in_words(old: str, new: str) -> None:
    for role in ("system", "tools"):
        found = leaf_changes(f"{old} Be brief.", f"{new} Be brief.", role)
        assert {one.kind for one in found} == {"clock"}


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_what_is_no_time(old: str, new: str) -> None:
    assert "clock" not in {one.kind for one in leaf_changes(old, new, "system")}
